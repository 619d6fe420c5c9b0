import { type Kube, openRequest } from './connection.ts';
import { kubeError } from './errors.ts';

/** The clock of the API server, ms since the epoch, in whole seconds: times of deletion are its own. Undefined when it does not say. */
export async function serverTime(kube: Kube): Promise<number | undefined> {
  try {
    const response = await openRequest(kube, { method: 'GET', path: '/version' });
    await response.body?.cancel();
    const at = Date.parse(response.headers.get('date') ?? '');
    return Number.isNaN(at) ? undefined : at;
  } catch (error) {
    throw kubeError(error, 'ask the API server for its time');
  }
}
