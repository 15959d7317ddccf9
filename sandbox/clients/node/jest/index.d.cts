import type { Inbox, Sandbox } from '../lib/index.cjs';

/** The sandbox of this worker. After each test, its faults and clock are restored. */
export const sandbox: Sandbox;
/** The inbox of this test file, without mails at the start of each test. */
export const inbox: Inbox;
