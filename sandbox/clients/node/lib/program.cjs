'use strict';

const { spawn } = require('node:child_process');
const { SandboxError } = require('./errors.cjs');

const START_TIMEOUT = 10_000;
const STOP_TIMEOUT = 5_000;
/** What of the program's standard error is kept for messages, in characters. */
const MAX_LOG = 8_192;
const INSTALL =
  'Install it with `cargo install --path cli` in a checkout of idempost, or set IDEMPOST_BINARY or the option `binary` to its path; ' +
  'to use a sandbox that runs elsewhere, call Sandbox.join(url).';

/**
 * Starts `idempost sandbox serve` on a free port, and returns its description and a function that stops it.
 *
 * It stops at the end of its standard input, so also when this process is killed. It has a process group of its own: Ctrl-C stops the test
 * runner first.
 */
async function start({ binary, args = [], password }) {
  const program = binary ?? (process.env.IDEMPOST_BINARY || 'idempost');
  const env = { ...process.env };
  // A test must not forward or release mail to a real server because a shell does, nor take over the password of another sandbox.
  delete env.IDEMPOST_SANDBOX_FORWARD;
  delete env.IDEMPOST_SANDBOX_RELEASE;
  delete env.IDEMPOST_SANDBOX_AUTH;
  if (password !== undefined) env.IDEMPOST_SANDBOX_AUTH = password;
  const child = spawn(program, ['sandbox', 'serve', '--port', '0', '--until-eof', '--output', 'json', ...args], {
    env,
    stdio: 'pipe',
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log = (log + text).slice(-MAX_LOG);
  });
  // Writing is never necessary, and the program may have exited.
  child.stdin.on('error', () => {});
  const exited = new Promise((resolve) => {
    child.once('error', resolve);
    child.once('close', resolve);
  });
  // With the children of a wrapper script.
  const kill = () => {
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      child.kill('SIGKILL');
    }
  };
  const description = await new Promise((resolve, reject) => {
    const failed = (code, reason, cause) => {
      clearTimeout(timer);
      kill();
      reject(new SandboxError(code, reason, { cause }));
    };
    const timer = setTimeout(() => {
      failed('start_failed', `\`${program} sandbox serve\` wasn't ready after ${START_TIMEOUT / 1_000} s. ${reason(log)}`.trim());
    }, START_TIMEOUT);
    child.once('error', (error) => {
      if (error.code === 'ENOENT') failed('program_missing', `The program \`${program}\` doesn't exist. ${INSTALL}`, error);
      else failed('start_failed', `The program \`${program}\` can't be started: ${error.message}`, error);
    });
    child.once('close', (code, signal) => {
      failed('start_failed', `\`${program} sandbox serve\` exited with ${signal ?? code} before it was ready: ${reason(log)}`.trim());
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      if (output.endsWith('\n')) return;
      output += text;
      if (!output.endsWith('\n')) return;
      clearTimeout(timer);
      try {
        const description = JSON.parse(output);
        new URL(description.base_url);
        resolve(description);
      } catch (cause) {
        failed('start_failed', `\`${program}\` isn't the program of this package; it printed: ${output.slice(0, 200).trimEnd()}`, cause);
      }
    });
  });
  // The test runner can exit while the sandbox runs.
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.unref();
  const stop = async () => {
    child.ref();
    child.stdin.end();
    const timer = setTimeout(kill, STOP_TIMEOUT);
    await exited;
    clearTimeout(timer);
  };
  return { description, stop };
}

/** The messages of the program's error. */
function reason(log) {
  try {
    const { error } = JSON.parse(log);
    return error.problems?.map(({ message }) => message).join('; ') || error.message;
  } catch {
    return log;
  }
}

module.exports = { start };
