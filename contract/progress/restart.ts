/** A restart inside the processes of a job (level `process`): what its training pods are asked over HTTP, and what they answer. */

/** GET: what the pod is asked. POST: its answer. */
export const restartPath = '/v1/restart-in-process';

export const restartStatuses = ['accepted', 'refused', 'done'] as const;
export type RestartStatus = (typeof restartStatuses)[number];

/** A question to every pod of a job. */
export interface RestartRequest {
  /** `<incident id>#<attempt>` */
  readonly id: string;
  readonly reason: string;
  /** RFC 3339: training must pass its last step by then. */
  readonly deadline: string;
}

/** What a job notes of its question. */
export interface AskedRestart extends RestartRequest {
  /** RFC 3339: pods that were created later belong to another attempt. */
  readonly askedAt: string;
  /** Absent before the first. */
  readonly answers?: RestartAnswers;
}

/** Id of a question. */
export const restartId = (incident: string, attempt: number): string => `${incident}#${attempt}`;

export interface RestartAnswer {
  /** Of the question. */
  readonly id: string;
  readonly status: RestartStatus;
  readonly because?: string | undefined;
}

/** The answers of a job so far, by the rank of the pod. A rank that is done is no longer among the accepted. */
export interface RestartAnswers {
  readonly accepted: readonly number[];
  readonly done: readonly number[];
  /** The first refusal: it ends the question. */
  readonly refused?: { readonly rank: number; readonly because: string } | undefined;
}

export const noAnswers: RestartAnswers = { accepted: [], done: [] };

/** `recover`: absent while the pod is asked nothing. */
export interface RestartPoll {
  readonly recover?: RestartRequest;
}

/** Whether it is the answer of a pod that was asked to an open question. */
export interface RestartAnswered {
  readonly recorded: boolean;
}

export const restartLimits = { id: 600, reason: 500, because: 200, ranks: 1000, rank: 1_000_000 } as const;
