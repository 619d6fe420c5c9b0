/** Evicts one pod by the Eviction API, which respects disruption budgets. */

import { type Kube, openRequest } from '../client/connection.ts';
import { answerError, kubeError } from '../client/errors.ts';
import { objectPath } from '../client/request-url.ts';
import { podsPath } from './pods.ts';

export type Eviction =
  /** It is accepted, or the pod is gone. */
  | { readonly kind: 'accepted' }
  | { readonly kind: 'gone' }
  /** A budget allows it later, or never. */
  | { readonly kind: 'held'; readonly because: string; readonly forGood: boolean };

interface Refusal {
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

/** Evicts this one UID. Throws `KcoverError`. */
export async function evictPod(
  kube: Kube,
  { namespace, name, uid }: { readonly namespace: string; readonly name: string; readonly uid: string },
): Promise<Eviction> {
  const doing = `evict pod ${namespace}/${name}`;
  const body = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { namespace, name },
    deleteOptions: { preconditions: { uid } },
  };
  try {
    const response = await openRequest(kube, {
      method: 'POST',
      path: `${objectPath(podsPath(namespace), name)}/eviction`,
      body: { contentType: 'application/json', text: JSON.stringify(body) },
    });
    const text = await response.text();
    if (response.ok) return { kind: 'accepted' };
    const { message = '', details } = refusalOf(text);
    const budget = details?.causes?.find(({ reason }) => reason === 'DisruptionBudget');
    // A server that asks to slow down answers 429 too, without a cause.
    if (response.status === 429 && budget) return { kind: 'held', because: budget.message ?? message, forGood: false };
    if (response.status === 500 && message.includes('more than one PodDisruptionBudget'))
      return { kind: 'held', because: 'more than one PodDisruptionBudget selects it', forGood: true };
    // Another UID is a conflict.
    if (response.status === 409 && message.includes('UID') && message.includes('precondition')) return { kind: 'gone' };
    throw answerError(response.status, text, response.headers.get('retry-after') ?? undefined, doing);
  } catch (error) {
    const known = kubeError(error, doing);
    if (known.code === 'not-found') return { kind: 'gone' };
    throw known;
  }
}

function refusalOf(text: string): Refusal {
  try {
    return Object(JSON.parse(text)) as Refusal;
  } catch {
    return {};
  }
}
