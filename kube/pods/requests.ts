/** Resource requests of a pod, as the scheduler counts them. */

import type { V1Container, V1PodSpec } from '@kubernetes/client-node';
import type { Amounts } from '../../contract/recovery/placement.ts';

type Quantities = Readonly<Record<string, string>>;

/** The sum of the containers, or the init containers if that is more, plus the overhead of the runtime. Every pod counts as one of `pods`. */
export function requestsOf(
  spec: Pick<V1PodSpec, 'containers' | 'initContainers' | 'overhead' | 'resources'> | undefined,
): Amounts {
  let beside: Amounts = {};
  let before: Amounts = {};
  for (const container of spec?.initContainers ?? []) {
    // A sidecar starts among the init containers and keeps running.
    if (container.restartPolicy === 'Always') beside = added(beside, ofContainer(container));
    else before = larger(before, added(beside, ofContainer(container)));
  }
  const ofContainers = (spec?.containers ?? []).reduce((sum, container) => added(sum, ofContainer(container)), beside);
  const ofPod = amountsOf(withLimits(spec?.resources));
  return { ...added({ ...larger(ofContainers, before), ...ofPod }, amountsOf(spec?.overhead)), pods: 1 };
}

const ofContainer = ({ resources }: V1Container): Amounts => amountsOf(withLimits(resources));

/** A request defaults to its limit. */
const withLimits = (resources: V1Container['resources']): Quantities => ({
  ...resources?.limits,
  ...resources?.requests,
});

export const amountsOf = (quantities: Quantities | undefined): Amounts =>
  Object.fromEntries(Object.entries(quantities ?? {}).map(([name, quantity]) => [name, amountOf(name, quantity)]));

const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Source: the scheduler, which counts cores in thousandths and everything else in whole units, rounded up. An invalid quantity is 0. */
function amountOf(resource: string, quantity: string): number {
  const [, digits, suffix = ''] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(String(quantity)) ?? [];
  const factor = suffix === '' ? 1 : (suffixes[suffix] ?? 0);
  const amount = Number(digits ?? 0) * factor * (resource === 'cpu' ? 1000 : 1);
  // Corrects floating-point errors, as in 0.1 * 1000 * 1e-3.
  return Math.ceil(Number(amount.toPrecision(15)));
}

const names = (a: Amounts, b: Amounts): string[] => Object.keys({ ...a, ...b });
const larger = (a: Amounts, b: Amounts): Amounts =>
  Object.fromEntries(names(a, b).map((name) => [name, Math.max(a[name] ?? 0, b[name] ?? 0)]));
export const added = (a: Amounts, b: Amounts): Amounts =>
  Object.fromEntries(names(a, b).map((name) => [name, (a[name] ?? 0) + (b[name] ?? 0)]));
