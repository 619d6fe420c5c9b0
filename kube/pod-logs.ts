/** The last lines that a container wrote. */

import { KcoverError } from '../contract/errors.ts';
import type { AttemptPod } from '../contract/jobs.ts';
import { type Kube, openRequest } from './connection.ts';
import { answerError, kubeError, statusMessage } from './errors.ts';
import { podsPath } from './pods.ts';
import { objectPath } from './request-url.ts';

export interface LogRequest {
  readonly namespace: string;
  readonly pod: Pick<AttemptPod, 'name'>;
  readonly container: string;
  /** Of the container before its last restart. */
  readonly previous: boolean;
  readonly lines: number;
  /** The kubelet counts from the first of these lines: a log that reaches it lacks its end. */
  readonly bytes: number;
  readonly signal: AbortSignal;
}

/** Undefined when there is no such container or log. The log of whichever pod has this name now. */
export async function readPodLog(kube: Kube, request: LogRequest): Promise<string | undefined> {
  const { namespace, pod, container, previous, lines, bytes, signal } = request;
  const doing = `read the log of ${container} in pod ${pod.name}`;
  const query = { container, tailLines: String(lines), limitBytes: String(bytes), timestamps: 'true', ...(previous && { previous: 'true' }) };
  try {
    const response = await openRequest(kube, { method: 'GET', path: `${objectPath(podsPath(namespace), pod.name)}/log`, query, signal });
    const text = await response.text();
    if (response.ok) return text;
    if (isNoLog(response.status, text)) return undefined;
    const error = answerError(response.status, text, undefined, doing);
    // Whatever stands between us and the log is not the API server: it has just answered.
    throw error.code === 'kube.unreachable' ? new KcoverError(error.code, error.because, { what: 'no kubelet handed them out' }) : error;
  } catch (error) {
    throw kubeError(error, doing);
  }
}

/** A container that waits, or was never restarted, is answered as a bad request; one whose log was cleaned up as not found. */
const isNoLog = (status: number, body: string): boolean =>
  status === 404 || (status === 400 && /is waiting to start|is not valid for pod|previous terminated container|not found/.test(statusMessage(body)));
