import runner from '../lib/runner.cjs';

runner.attach('vitest', process.env.VITEST_POOL_ID);
