/**
 * Levels of MindCluster, and what each asks for. Its ranking is not used: a level that leaves running work ranks above one that stops it.
 * Source: Ascend/mind-cluster, component/ascend-common and the documents of its device plugin.
 */

import type { Action, Standing } from '../../contract/faults/faults.ts';

interface LevelRow {
  /** Absent: it only warns. */
  readonly action?: Action;
  readonly meaning: string;
}

const rows: Readonly<Record<string, LevelRow>> = {
  NotHandleFault: { action: 'ignore', meaning: 'it has no effect on work, or heals by itself' },
  SubHealthFault: { meaning: 'performance may suffer' },
  RestartRequest: { action: 'restart-app', meaning: 'a request failed' },
  RestartBusiness: { action: 'restart-app', meaning: 'the work failed' },
  FreeRestartNPU: { action: 'reset-gpu', meaning: 'the chip must be reset once no work uses it' },
  RestartNPU: { action: 'reset-gpu', meaning: 'the chip must be reset now' },
  // A quarantine would also move the work that may stay.
  PreSeparateNPU: { meaning: 'the chip takes no new work, and running work may stay' },
  SeparateNPU: { action: 'contact-support', meaning: 'a reset does not heal the chip' },
  ManuallySeparateNPU: {
    action: 'contact-support',
    meaning: 'the chip failed too often, and a person must release it',
  },
  PreSeparateFault: { meaning: 'the node takes no new work, and running work may stay' },
  SeparateFault: { action: 'contact-support', meaning: 'the node cannot be used' },
};

export interface LevelVerdict {
  readonly action?: Action;
  readonly standing?: Standing;
  readonly because: string;
}

export function decideLevel(level: string): LevelVerdict {
  const row = Object.hasOwn(rows, level) ? rows[level] : undefined;
  if (row === undefined)
    return { standing: 'unknown', because: `kcover does not know the level ${level === '' ? 'of this fault' : level}` };
  const { action, meaning } = row;
  return {
    ...(action !== undefined && { action }),
    because: `${level}: ${meaning}; ${action === undefined ? 'nothing is done by default' : `that is ${action}`}`,
  };
}
