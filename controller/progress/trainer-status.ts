/** `POST /v1/trainer-status`: a training pod reports its own step, in the format of Kubeflow Trainer. */

import type { FastifyInstance } from 'fastify';
import { type TrainerStatusAnswer, trainerStatusPath } from '../../contract/progress/trainer-status.ts';
import { trainerStatus } from '../../contract/progress/trainer-status.schema.ts';
import { firstIssue, refused } from '../intake/reporter.ts';
import type { ProgressEndpoint } from './endpoint.ts';
import { listed, pollOf } from './restart-endpoint.ts';

/** Bytes of a request. */
const bodyLimit = 64 * 1024;

export function takeTrainerStatus(server: FastifyInstance, { progress, reporterOf, reject }: ProgressEndpoint): void {
  server.post(trainerStatusPath, { bodyLimit }, async (request, reply) => {
    const pod = reporterOf(request);
    if (!pod) return reject(reply, refused('unauthenticated', 'a bearer token is needed'));
    const parsed = trainerStatus.safeParse(request.body);
    if (!parsed.success) return reject(reply, refused('malformed', firstIssue(parsed.error.issues)));
    const taker = listed(progress());
    if ('rejection' in taker) return reject(reply, taker);
    const step = parsed.data;
    const counted = step !== undefined && taker.takeStep(pod.podUid, step) === 'counted';
    return reply.code(200).send({ counted, ...pollOf(taker, pod.podUid) } satisfies TrainerStatusAnswer);
  });
}
