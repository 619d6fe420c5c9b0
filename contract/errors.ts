/**
 * All errors of kcover. The kind decides whether Temporal retries: transient: retry; permanent: the step fails and the workflow handles it.
 * A refusal is a decision and a missed deadline is a value: neither is thrown. A defect is thrown as it is, and the workflow task waits for a fix.
 */
export const errorCatalogue = {
  'kube.unreachable': {
    kind: 'transient',
    what: 'the Kubernetes API did not answer',
    remedy: 'kcover waits and tries again; look at the API server and the network',
  },
  'kube.throttled': {
    kind: 'transient',
    what: 'the Kubernetes API asked to slow down',
    remedy: 'kcover waits as long as the server asked',
  },
  'kube.conflict': {
    kind: 'transient',
    what: 'the object changed while it was being written',
    remedy: 'kcover reads it again',
  },
  'kube.forbidden': {
    kind: 'transient',
    what: 'kcover may not do this',
    remedy: 'kcover doctor lists the missing permissions',
  },
  'kube.invalid': {
    kind: 'permanent',
    what: 'the Kubernetes API rejected the request',
    remedy: 'this is a defect of kcover or an unsupported version; report it',
  },
  'name.invalid': {
    kind: 'permanent',
    what: 'this cannot be part of the name of a Kubernetes object',
    remedy: 'kcover sends no request for it; correct it, or check the object that it comes from',
  },
  'node.gone': { kind: 'permanent', what: 'the node is gone or was replaced', remedy: 'nothing: the quarantine ends' },
  'job.gone': { kind: 'permanent', what: 'the job is gone or was replaced', remedy: 'nothing: the recovery ends' },
  'temporal.unreachable': {
    kind: 'transient',
    what: 'Temporal did not answer',
    remedy: 'check TEMPORAL_ADDRESS and the server',
  },
  'temporal.refused': {
    kind: 'transient',
    what: 'Temporal refuses this',
    remedy: 'check TEMPORAL_NAMESPACE and the credentials; kcover doctor shows details',
  },
  'cluster.other': {
    kind: 'permanent',
    what: 'this Temporal namespace serves another Kubernetes cluster',
    remedy: 'use one Temporal namespace for each cluster',
  },
  'temporal.attributes': {
    kind: 'permanent',
    what: 'a search attribute is not registered',
    remedy: 'kcover doctor --fix, or the command that the message names',
  },
  'loki.unavailable': {
    kind: 'transient',
    what: 'Loki does not answer a query',
    remedy: 'kcover asks again, ever more rarely; look at Loki, its gateway and the network',
  },
  'notify.unreachable': {
    kind: 'transient',
    what: 'a receiver of notifications does not answer',
    remedy: 'kcover tries again for a day; kcover notify test ROUTE shows whether it works now',
  },
  'notify.refused': {
    kind: 'permanent',
    what: 'a receiver refuses a notification',
    remedy: 'check address, token and format of the route; kcover notify test ROUTE',
  },
  'settings.invalid': {
    kind: 'permanent',
    what: 'the settings cannot be used',
    remedy: 'correct the line that the message shows',
  },
  'address.taken': {
    kind: 'permanent',
    what: 'kcover cannot listen on this address',
    remedy: 'stop the process that listens there, or set another host:port',
  },
  'file.unreadable': {
    kind: 'permanent',
    what: 'a file that is needed cannot be read',
    remedy: 'mount it, or give the user of the process the right to read it',
  },
  'records.unwritable': {
    kind: 'transient',
    what: 'the record store cannot be written',
    remedy: 'check free space and permissions of the directory',
  },
  usage: { kind: 'permanent', what: 'the command line cannot be used', remedy: 'kcover help' },
  'wait.timeout': {
    kind: 'permanent',
    what: 'the condition did not hold in time',
    remedy: 'kcover status JOB shows what it waits for',
  },
  'wait.otherwise': {
    kind: 'permanent',
    what: 'the condition can no longer hold',
    remedy: 'kcover status JOB and kcover report INCIDENT show why',
  },
  refused: { kind: 'permanent', what: 'policy refuses this', remedy: 'read the reason; some refusals name a command' },
  'not-found': { kind: 'permanent', what: 'there is no such thing', remedy: 'kcover list' },
} as const satisfies Record<string, { kind: 'transient' | 'permanent'; what: string; remedy: string }>;

export type ErrorCode = keyof typeof errorCatalogue;

/** An error of the catalogue. `because` names the particular case; it must hold no secret. */
export class KcoverError extends Error {
  override readonly name = 'KcoverError';
  readonly code: ErrorCode;
  readonly because: string;
  readonly advice: string;
  /** The server asked to wait this long before the next attempt, ms. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: ErrorCode,
    because: string,
    more: { what?: string; remedy?: string; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(more.what ?? errorCatalogue[code].what, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.because = because;
    this.advice = more.remedy ?? errorCatalogue[code].remedy;
    this.retryAfterMs = more.retryAfterMs;
  }

  get transient(): boolean {
    return errorCatalogue[this.code].kind === 'transient';
  }
}

/** The three lines a person reads: what, because, try. */
export const explainError = (error: KcoverError): string =>
  `error[${error.code}]: ${error.message}\n  because: ${error.because}\n  try:     ${error.advice}`;

/** Exit codes of every command. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  unknown: 2,
  refused: 3,
  notFound: 4,
  unreachable: 5,
  timedOut: 6,
  otherwise: 7,
  bug: 70,
} as const;
