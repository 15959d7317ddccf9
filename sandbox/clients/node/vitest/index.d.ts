import type { TestAPI } from 'vitest';
import type { Inbox, Sandbox } from '../index.js';

export interface Fixtures {
  /** The sandbox of this worker. After the test, its faults and clock are restored. */
  sandbox: Sandbox;
  /** The inbox of this worker, without mails at the start of the test. */
  inbox: Inbox;
}
export const test: TestAPI<Fixtures>;
export const it: TestAPI<Fixtures>;
export { expect } from 'vitest';
