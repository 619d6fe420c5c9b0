/** `--device-plugin`: ConfigMaps of Ascend's device plugin and NodeD. */

import { createHash } from 'node:crypto';
import { KcoverError } from '../../contract/errors.ts';
import { readConfigMaps } from '../../faults/ascend/config-map.ts';
import { parsedJson } from '../../faults/ascend/fields.ts';
import type { Reader } from './reader.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export const devicePlugin: Reader = {
  describe: 'ConfigMaps of the Ascend device plugin or of NodeD, as kubectl get configmaps -o json prints them',
  read(text) {
    const found = readConfigMaps(parsedJson(text), sha256);
    if (found === undefined)
      throw new KcoverError('file.unreadable', 'it is neither a ConfigMap nor a list of them, as JSON', {
        remedy: 'kubectl get configmaps -n kube-system -o json | kcover classify --device-plugin -',
      });
    return found;
  },
};
