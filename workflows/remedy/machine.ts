import type { Fault } from '../../contract/faults/faults.ts';

/** UUIDs of GPUs among the devices that faults name; a PCI address is no property of the card. */
export const gpusOf = (faults: readonly Fault[]): string[] => [
  ...new Set(faults.flatMap(({ device }) => (device?.startsWith('GPU-') === true ? [device] : []))),
];
