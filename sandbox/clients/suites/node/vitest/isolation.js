import { test } from 'idempost-sandbox/vitest';
import { beforeAll } from 'vitest';
import { signUp } from '../app.js';
import { failsAlone, seesOnlyItsOwn, startsEmpty, waitsForTheNext, worksAgain } from '../isolation.cjs';
import { together } from '../together.cjs';

beforeAll(() => together(process.env.VITEST_POOL_ID), 30_000);
test('a worker sees only its own mails', ({ inbox }) => seesOnlyItsOwn({ inbox, signUp }), 60_000);
test.skipIf(process.env.SUITE_SHARED)('a fault stays in its worker', ({ sandbox, inbox }) => failsAlone({ sandbox, inbox, signUp }));
test('a wait ends with the next mail', ({ inbox }) => waitsForTheNext({ inbox, signUp }));
test('an inbox is empty at the start of a test', ({ inbox }) => startsEmpty({ inbox }));
test('a fault and a moved clock end with their test', ({ sandbox, inbox }) => worksAgain({ sandbox, inbox, signUp }));
