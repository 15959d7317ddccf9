module.exports = {
  testMatch: ['<rootDir>/jest/*.test.cjs'],
  maxWorkers: 4,
  globalSetup: 'idempost-sandbox/jest/global-setup',
  setupFiles: ['idempost-sandbox/jest/setup'],
};
