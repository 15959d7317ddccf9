module.exports = {
  testMatch: ['<rootDir>/jest/*.test.cjs'],
  maxWorkers: 4,
  globalSetup: 'posthaste-sandbox/jest/global-setup',
  setupFiles: ['posthaste-sandbox/jest/setup'],
};
