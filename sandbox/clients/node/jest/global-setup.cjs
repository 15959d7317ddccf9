'use strict';

const { startAll } = require('../lib/runner.cjs');

// Without a teardown: the sandboxes stop with the main process.
module.exports = async ({ maxWorkers }) => {
  await startAll(maxWorkers);
};
