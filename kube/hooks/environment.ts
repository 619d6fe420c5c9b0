import type { HookRequest } from '../../contract/remedy/remedy.ts';

/** Codes and devices are what tools and drivers print: others are left out, also `$(`, which a kubelet would expand. */
const plain = /^[\w.:/-]{1,100}$/;
const listed = (texts: readonly string[]): string =>
  texts
    .filter((text) => plain.test(text))
    .slice(0, 64)
    .join(',');

/** What a program of a hook gets to know, as environment variables. */
export const hookEnvironment = (request: HookRequest): Readonly<Record<string, string>> => ({
  KCOVER_NODE: request.node,
  KCOVER_OPERATION: request.operation,
  KCOVER_INCIDENT: request.incident,
  KCOVER_SYSTEM_UUID: plain.test(request.systemUuid) ? request.systemUuid : '',
  KCOVER_CODES: listed(request.codes),
  KCOVER_DEVICES: listed(request.devices),
});
