import type { CapacityChoice, CheckpointStrategy, HangResponse, JobWishes, RecoveryMode, RestartLevel } from '../contract/job-wishes.ts';
import type { WorkerSettings } from '../contract/settings.schema.ts';

type Recovery = WorkerSettings['recovery'];

/** What holds for one job: the operator's settings, and what the job asks for as far as the operator lets it. */
export interface JobPolicy {
  readonly mode: RecoveryMode;
  readonly checkpoint: CheckpointStrategy;
  /** Without room for a whole attempt, while the job still runs, and when it does not. */
  readonly short: CapacityChoice;
  readonly dead: CapacityChoice;
  readonly level: RestartLevel;
  readonly hang: HangResponse;
  /** Recoveries for its own code; missing where the budget of the settings holds. */
  readonly retries?: number;
  /** Wishes that do not count, a sentence each. */
  readonly ignored: readonly string[];
}

/** The annotation or label is named as people know it; the job's own words stand in `ignored`. */
export function jobPolicy(wishes: Partial<JobWishes> | undefined, settings: Recovery): JobPolicy {
  const { jobMay } = settings;
  const ignored = [...(wishes?.ignored ?? [])];

  function choose<T extends string>(what: string, wish: T | undefined, allowed: readonly T[], otherwise: T): T {
    if (wish === undefined || wish === otherwise) return otherwise;
    if (allowed.includes(wish)) return wish;
    ignored.push(`${what} ${wish} is not allowed by the operator: ${otherwise} holds`);
    return otherwise;
  }

  const mode = choose<RecoveryMode>('mode', wishes?.mode, jobMay.mode, settings.mode);
  const checkpoint = choose('checkpoint', wishes?.checkpoint, jobMay.checkpoint, settings.checkpoint.strategy);
  const shrinksNothing = wishes?.capacity === 'shrink' && wishes.minReplicas === undefined && wishes.shapes === undefined;
  if (shrinksNothing) ignored.push('capacity shrink says not how small the job may become: min-replicas or shapes is needed');
  const capacity = shrinksNothing ? undefined : wishes?.capacity;
  const retries = wishes?.retries === undefined ? undefined : Math.min(wishes.retries, jobMay.retries);
  if (retries !== undefined && retries !== wishes?.retries) ignored.push(`retries ${wishes?.retries} is above the operator's ${jobMay.retries}, which holds`);
  if (mode === 'force' && wishes?.checkpoint === 'dying-gasp') ignored.push('checkpoint dying-gasp: mode force leaves no time to save anything');
  return {
    mode,
    checkpoint: mode === 'force' && checkpoint === 'dying-gasp' ? 'none' : checkpoint,
    short: choose('capacity', capacity, jobMay.capacity, settings.capacity.short),
    dead: choose('for a dead job, capacity', capacity, jobMay.capacity, settings.capacity.dead),
    level: choose('first-level', wishes?.level, jobMay.level, settings.levels.first),
    hang: choose('hang', wishes?.hang, jobMay.hang, settings.hang.response),
    ...(retries !== undefined && { retries }),
    ignored,
  };
}
