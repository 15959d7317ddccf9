import type {
  PlaywrightTestArgs,
  PlaywrightTestOptions,
  PlaywrightWorkerArgs,
  PlaywrightWorkerOptions,
  TestType,
} from '@playwright/test';
import type { Inbox, JoinOptions, Sandbox, StartOptions } from '../lib/index.cjs';

export interface Fixtures {
  /** An inbox with a key of its own, or with `inboxKey`. */
  inbox: Inbox;
}
export interface WorkerFixtures {
  /** A sandbox per worker, or the one of `sandboxUrl`. After each test with an inbox, its faults and clock are restored. */
  sandbox: Sandbox;
}
export interface Options {
  /** Options of `Sandbox.start` or `Sandbox.join`. */
  sandboxOptions: StartOptions & JoinOptions;
  /** The sandbox to join; by default `IDEMPOST_BASE_URL`; without both, each worker starts one. */
  sandboxUrl: string | undefined;
  /** The key of the application under test, if all workers share it. Its mails are kept: wait for a unique address. */
  inboxKey: string | undefined;
}
export const test: TestType<
  PlaywrightTestArgs & PlaywrightTestOptions & Fixtures,
  PlaywrightWorkerArgs & PlaywrightWorkerOptions & WorkerFixtures & Options
>;
export { expect } from '@playwright/test';
