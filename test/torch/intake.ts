/** The intake's question to a job of two pods, over HTTP on loopback: the token of a pod is its name. */

import fastify from 'fastify';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AskedRestart, restartPath, type RestartAnswers } from '../../contract/progress/restart.ts';
import { rejections } from '../../contract/wire/reports.ts';
import { takeRestartAnswers } from '../../controller/progress/restart-endpoint.ts';
import { passOnRestarts } from '../../controller/progress/restarts.ts';
import type { KnownJob } from '../../controller/watch/known-jobs.ts';

export interface RestartIntake {
  /** As a recovery asks. */
  ask(id: string, withinMs: number): void;
  /** The answers to each question as they were written to the job. */
  readonly written: readonly (RestartAnswers & { readonly id: string })[];
  environment(pod: number): Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function openRestartIntake(directory: string): Promise<RestartIntake> {
  const createdAt = new Date().toISOString();
  const written: (RestartAnswers & { readonly id: string })[] = [];
  let restart: AskedRestart | undefined;
  const job = (): KnownJob => ({
    ref: { kind: 'PyTorchJob', namespace: 'train', name: 'llm', uid: 'llm-uid' },
    optedIn: true,
    optedInAt: createdAt,
    restartPolicy: 'OnFailure',
    podsExpected: 2,
    toleratesQuarantine: false,
    canStopBy: ['suspend'],
    resourceVersion: '1',
    wantsRecovery: false,
    ...(restart && { restart }),
  });
  const restarts = passOnRestarts({
    pod: (uid) => ({ job: job(), rank: Number(uid), createdAt }),
    async write(_job, id, answers) {
      written.push({ id, ...answers });
      return true;
    },
    now: Date.now,
    signal: new AbortController().signal,
  });
  const server = fastify();
  const never = (): never => {
    throw new Error('progress is reported in files');
  };
  takeRestartAnswers(server, {
    progress: () => ({
      isUpToDate: () => true,
      take: never,
      takeStep: never,
      takeLogs: never,
      wantedLogs: never,
      restartOf: restarts.requestFor,
      answerRestart: restarts.answer,
    }),
    reporterOf: ({ headers }) => ({
      kind: 'reporter',
      node: 'here',
      podUid: (headers.authorization ?? '').replace('Bearer ', ''),
    }),
    reject: (reply, { rejection, because }) => reply.code(rejections[rejection]).send({ error: rejection, because }),
  });
  const address = await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    ask(id, withinMs) {
      const now = Date.now();
      const [askedAt, deadline] = [now, now + withinMs].map((ms) => new Date(ms).toISOString());
      restart = { id, reason: 'a rank stood still', askedAt: askedAt ?? '', deadline: deadline ?? '' };
    },
    written,
    environment(pod) {
      const token = join(directory, `token-${pod}`);
      writeFileSync(token, String(pod));
      return {
        KUBEFLOW_TRAINER_SERVER_URL: address + restartPath.replace(/[^/]+$/, 'trainer-status'),
        KUBEFLOW_TRAINER_SERVER_TOKEN: token,
      };
    },
    close: () => server.close(),
  };
}
