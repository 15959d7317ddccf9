import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['vitest/*.test.js'],
    minWorkers: 4,
    maxWorkers: 4,
    globalSetup: 'idempost-sandbox/vitest/global-setup',
    setupFiles: 'idempost-sandbox/vitest/setup',
  },
});
