// Proves that four workers run at once: each waits for the others.
const { existsSync, mkdirSync, readdirSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');

exports.together = async (worker) => {
  const folder = process.env.SUITE_WORKERS;
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true });
  mkdirSync(join(folder, worker), { recursive: true });
  const end = Date.now() + 20_000;
  while (readdirSync(folder).length < 4) {
    if (Date.now() > end) throw new Error(`Only the workers ${readdirSync(folder)} run.`);
    await pause(20);
  }
};
