/** `/v1/restart-in-process`: a training pod asks whether it shall restart training in its processes, and answers. */

import type { FastifyInstance } from 'fastify';
import { restartAnswer } from '../../contract/progress/restart.schema.ts';
import { type RestartAnswered, restartPath, type RestartPoll } from '../../contract/progress/restart.ts';
import { firstIssue, notLeading, type Refusal, refused } from '../intake/reporter.ts';
import type { ProgressEndpoint, ProgressTaker } from './endpoint.ts';

/** Bytes of a request. */
const bodyLimit = 16 * 1024;

export function takeRestartAnswers(server: FastifyInstance, { progress, reporterOf, reject }: ProgressEndpoint): void {
  server.get(restartPath, async (request, reply) => {
    const pod = reporterOf(request);
    if (!pod) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
    const taker = listed(progress());
    if ('rejection' in taker) return reject(reply, taker);
    return reply.code(200).send(pollOf(taker, pod.podUid));
  });

  server.post(restartPath, { bodyLimit }, async (request, reply) => {
    const pod = reporterOf(request);
    if (!pod) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
    const parsed = restartAnswer.safeParse(request.body);
    if (!parsed.success) return reject(reply, refused('malformed', firstIssue(parsed.error.issues)));
    const taker = listed(progress());
    if ('rejection' in taker) return reject(reply, taker);
    const recorded = await taker.answerRestart(pod.podUid, parsed.data).catch(() => undefined);
    if (recorded === undefined)
      return reject(reply, refused('kube-unreachable', 'the answer cannot be written to the job'));
    return reply.code(200).send({ recorded } satisfies RestartAnswered);
  });
}

/** What the pod is asked, for any answer to it. */
export function pollOf(taker: Pick<ProgressTaker, 'restartOf'>, podUid: string): RestartPoll {
  const recover = taker.restartOf(podUid);
  return recover ? { recover } : {};
}

export function listed(taker: ProgressTaker | undefined): ProgressTaker | Refusal {
  if (!taker) return notLeading();
  return taker.isUpToDate() ? taker : refused('kube-unreachable', 'the pods of jobs are not listed yet');
}
