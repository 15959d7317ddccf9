module.exports = {
  testMatch: ['<rootDir>/jest/*.test.cjs'],
  maxWorkers: 4,
  // Without a limit of memory, Jest runs suites that were fast before one after the other.
  workerIdleMemoryLimit: '1GB',
  globalSetup: 'idempost-sandbox/jest/global-setup',
  setupFiles: ['idempost-sandbox/jest/setup'],
};
