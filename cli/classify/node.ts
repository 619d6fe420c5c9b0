/** `--node`: Node objects as `kubectl get nodes -o json` prints them. */

import { KcoverError } from '../../contract/errors.ts';
import { readNodes } from '../../faults/conditions/read-node.ts';
import type { Reader } from './reader.ts';

export const node: Reader = {
  describe: 'A Node, or a list of nodes, as kubectl get nodes -o json prints it; - reads stdin',
  read(text) {
    const found = readNodes(parsed(text));
    if (found === undefined) throw unusable('it is neither a Node nor a list of nodes');
    return found;
  },
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw unusable(`it is no JSON: ${error instanceof Error ? error.message.slice(0, 200) : 'not readable'}`);
  }
}

const unusable = (because: string): KcoverError =>
  new KcoverError('file.unreadable', because, { remedy: 'kubectl get nodes -o json | kcover classify --node -' });
