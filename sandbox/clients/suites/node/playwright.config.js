import { defineConfig } from '@playwright/test';

export default defineConfig({ testDir: 'playwright', workers: 4, reporter: 'line' });
