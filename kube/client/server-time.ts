import { type Kube, openRequest } from './connection.ts';
import { kubeError } from './errors.ts';

/** The API server's clock, which deletion times refer to: ms since the epoch, in whole seconds. Undefined without a Date header. */
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
