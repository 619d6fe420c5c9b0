/** The last log lines of a container. */

import { KcoverError } from '../../contract/errors.ts';
import type { AttemptPod } from '../../contract/job/jobs.ts';
import { type Kube, openRequest } from '../client/connection.ts';
import { answerError, kubeError, statusMessage } from '../client/errors.ts';
import { podsPath } from './pods.ts';
import { objectPath } from '../client/request-url.ts';

export interface LogRequest {
  readonly namespace: string;
  readonly pod: Pick<AttemptPod, 'name'>;
  readonly container: string;
  /** Of the container before its last restart. */
  readonly previous: boolean;
  readonly lines: number;
  /** The kubelet counts bytes from the first of these lines, so a log that reaches the limit lacks its end. */
  readonly bytes: number;
  readonly signal: AbortSignal;
}

/** Undefined when there is no such container or log. Reads the pod that has this name now. */
export async function readPodLog(kube: Kube, request: LogRequest): Promise<string | undefined> {
  const { namespace, pod, container, previous, lines, bytes, signal } = request;
  const doing = `read the log of ${container} in pod ${pod.name}`;
  const query = {
    container,
    tailLines: String(lines),
    limitBytes: String(bytes),
    timestamps: 'true',
    ...(previous && { previous: 'true' }),
  };
  try {
    const response = await openRequest(kube, {
      method: 'GET',
      path: `${objectPath(podsPath(namespace), pod.name)}/log`,
      query,
      signal,
    });
    const text = await response.text();
    if (response.ok) return text;
    if (isNoLog(response.status, text)) return undefined;
    const error = answerError(response.status, text, undefined, doing);
    // The API server itself has answered, so the kubelet is the one that did not.
    throw error.code === 'kube.unreachable'
      ? new KcoverError(error.code, error.because, { what: 'no kubelet returned the logs' })
      : error;
  } catch (error) {
    throw kubeError(error, doing);
  }
}

/** A waiting or never restarted container gives a bad request; a log that was cleaned up gives not found. */
const isNoLog = (status: number, body: string): boolean =>
  status === 404 ||
  (status === 400 &&
    /is waiting to start|is not valid for pod|previous terminated container|not found/.test(statusMessage(body)));
