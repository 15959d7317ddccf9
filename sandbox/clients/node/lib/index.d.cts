/** An operation of the sandbox failed. */
export class SandboxError extends Error {
  /**
   * `program_missing`, `start_failed`, `unreachable`, `not_a_sandbox`, `key_rejected`, `usage`, `timeout`, `no_code`, `no_link`, or the name of
   * an error response.
   */
  readonly code: string;
  /** The status of the response, if there was one. */
  readonly status?: number;
}

export interface StartOptions {
  /** Path of the program; by default the variable `IDEMPOST_BINARY`, then `idempost` in `PATH`. */
  binary?: string;
  /** Further arguments of `idempost sandbox serve`, such as `--beta`, `--strict-domains` or `--smtp-port=0`. */
  args?: string[];
  /** Password of the sandbox, at least 8 characters; by default it has none. */
  password?: string;
  /** Default of `waitFor`'s timeout: milliseconds, or text such as `10s`. */
  timeout?: number | string;
}

export interface JoinOptions {
  /** API key; by default that of `password`, else `IDEMPOST_API_KEY` beside `IDEMPOST_BASE_URL`, else `sb_local`. */
  key?: string;
  /** The sandbox's password (`sandbox serve --auth`). */
  password?: string;
  /** Default of `waitFor`'s timeout: milliseconds, or text such as `10s`. */
  timeout?: number | string;
}

/**
 * The variables that point an application to the sandbox, as `idempost sandbox env` prints them; also `NO_PROXY` and `no_proxy`, if the environment
 * has a proxy.
 */
export interface Environment {
  [name: string]: string;
  IDEMPOST_BASE_URL: string;
  IDEMPOST_API_KEY: string;
  RESEND_BASE_URL: string;
  RESEND_API_URL: string;
  RESEND_API_KEY: string;
}

/** A sandbox, started by this process or joined. */
export class Sandbox {
  private constructor();
  /** Starts a sandbox on a free port. It stops with this process, even if that is killed. */
  static start(options?: StartOptions): Promise<Sandbox>;
  /** Connects to a running sandbox; by default that of `IDEMPOST_BASE_URL`. */
  static join(url?: string, options?: JoinOptions): Promise<Sandbox>;
  /** The base URL of the API. */
  readonly url: string;
  /** The API key of the sandbox's default account. */
  readonly key: string;
  /** The address of its SMTP server, if it was started with `--smtp-port`. */
  readonly smtp?: { host: string; port: number };
  /** The variables for an application that uses the default account. */
  readonly env: Environment;
  /** The clocks of all keys. */
  readonly clock: Clock;
  /** Creates an inbox with a key of its own; with `key`, opens that of an application which has its key already. */
  inbox(options?: { key?: string }): Inbox;
  /**
   * Makes requests of all keys fail, in the words of `idempost sandbox fail`. `rule` is a method, a path, or both, such as `POST /emails`; or
   * `SMTP` and a stage, such as `SMTP RCPT`. By default, the next matching request fails with 500.
   */
  fail(rule: string, options?: FailOptions): Promise<Fault>;
  fail(options?: FailOptions): Promise<Fault>;
  /** Removes the faults that this object added, and sets the clocks that it or its inboxes changed back to the system's time. */
  restore(): Promise<void>;
  /** Stops the sandbox if this object started it. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Clock {
  show(): Promise<ClockState>;
  /** Advances the clock: `90s`, `1h 30m`, `2 days`. What becomes due has happened when the promise resolves. */
  advance(by: string): Promise<ClockState>;
  /** Sets the clock; `now` is the system's time. */
  set(to: Date | string): Promise<ClockState>;
  freeze(): Promise<ClockState>;
  run(): Promise<ClockState>;
  /** Runs the clock this many times as fast as real time. */
  scale(factor: number): Promise<ClockState>;
}

export interface ClockState {
  now: Date;
  frozen: boolean;
  scale: number;
  aheadSeconds: number;
}

export interface FailOptions {
  /** Respond with this status. */
  status?: number;
  /** Reply with this SMTP code. */
  code?: number;
  /** Error name in the response body. */
  name?: string;
  /** Drop the connection before processing the request. */
  drop?: boolean;
  /** Process the request, then drop the connection without a response. */
  lose?: boolean;
  /** Process the request, then cut the response off after this number of bytes of its body. */
  truncate?: number;
  /** Never respond. */
  stall?: boolean;
  /** Process the request, then delay the response: milliseconds, or text such as `2s`. */
  slow?: number | string;
  /** Respond with 429. */
  rateLimit?: boolean;
  /** Value of the `retry-after` header of an error response. */
  retryAfter?: number | string;
  /** Process the next token refresh but lose its response. */
  rotateThenLose?: boolean;
  /** Fail the next N matching requests; 1 by default. */
  times?: number;
  /** Fail this percentage of requests, at random. */
  percent?: number;
  /** Fail all matching requests until the rule is removed. */
  always?: boolean;
  /** Let the first N matching requests succeed. */
  after?: number;
}

export interface Fault {
  id: string;
  /** What the client of an affected request gets, in one line. */
  clientGets: string;
  remove(): Promise<void>;
}

/** Conditions for mails; all that are given must match. */
export interface Filter {
  /** Part of a recipient's address or name, ignoring case. */
  to?: string;
  /** Part of the sender's address or name, ignoring case. */
  from?: string;
  /** Part of the subject, ignoring case. */
  subject?: string;
  /** Search text, as in the search field of the inbox page. */
  query?: string;
  /** Tags and their values. */
  tag?: Record<string, string>;
}

export interface WaitFilter extends Filter {
  /** Only mails captured after this one, or after this time. */
  after?: Summary | string | Date;
  /** Milliseconds, or text such as `10s`; 4 s by default, 15 s in the Playwright fixtures. */
  timeout?: number | string;
}

/** The mails sent with one API key. Every key is an account of its own. */
export class Inbox {
  private constructor();
  readonly key: string;
  /** The clock of this key. */
  readonly clock: Clock;
  /** The variables for an application that sends to this inbox. */
  readonly env: Environment;
  /** A unique address, for an application whose key several tests share. */
  address(name?: string): string;
  /** The newest matching mail, at once if there is one, else as soon as it arrives. */
  waitFor(filter?: WaitFilter): Promise<Mail>;
  /** All matching mails, newest first. */
  list(filter?: Filter): Promise<Summary[]>;
  /** A mail by its ID, or by the ID that sending it returned. */
  get(id: string): Promise<Mail>;
  /** Deletes the captured mails. */
  clear(): Promise<void>;
  /** Deletes everything of this key: mails, domains, templates, webhooks, … */
  reset(): Promise<void>;
  /** Simulates an incoming email: the fields of a send, or a whole message (RFC 5322). Returns its ID. */
  receive(mail: IncomingMail | string | Uint8Array, options?: ReceiveOptions): Promise<string>;
  /** Sends a simulated event to the subscribed webhooks of this key. `data` is merged over the sample. */
  trigger(type: string, data?: Record<string, unknown>): Promise<{ webhookId: string; eventId: string }[]>;
}

export interface IncomingMail {
  from: string;
  to: string | string[];
  subject: string;
  text?: string;
  html?: string;
  cc?: string | string[];
  bcc?: string | string[];
  reply_to?: string | string[];
  headers?: Record<string, string>;
  attachments?: { filename: string; content: string }[];
}

export interface ReceiveOptions {
  /** Envelope recipients; by default those of the headers. */
  to?: string | string[];
  spf?: CheckResult;
  dkim?: CheckResult;
  dmarc?: CheckResult;
}

export type CheckResult = 'pass' | 'fail' | 'gray' | 'processing_failed' | 'unknown';

/** A captured mail in a list. */
export interface Summary {
  id: string;
  /** The ID that sending it returned. */
  emailId: string;
  from: string;
  to: string[];
  cc: string[];
  bcc: string[];
  subject: string;
  createdAt: Date;
  /** The size of the message in bytes. */
  size: number;
  lastEvent?: string;
  tags: Record<string, string>;
  attachments: { filename: string; contentType: string; size: number }[];
}

/** A captured mail with its content. */
export interface Mail extends Summary {
  html?: string;
  text?: string;
  headers: { name: string; value: string }[];
  /** Verification codes in the text. */
  codes: string[];
  links: { text: string; url: string }[];
  /** The first code; throws if there is none. */
  readonly code: string;
  /** The URL of the first link whose text or URL contains this text or matches this expression; throws if there is none. */
  link(which?: string | RegExp): string;
  /** The value of a header, ignoring the case of its name. */
  header(name: string): string | undefined;
  /** The message (RFC 5322). */
  source(): Promise<string>;
  /** Records an event of this email, such as `bounced`, `opened` or `clicked`, and sends it to the subscribed webhooks. */
  record(type: string, detail?: Record<string, unknown>): Promise<void>;
}
