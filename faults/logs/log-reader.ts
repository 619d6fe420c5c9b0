/** Reads the log of one container. */

import { withoutEscapes } from '../../contract/text.ts';
import type { CreateLogReader, LogEvent, OwnPatterns, PresetName } from './log-event.ts';
import { presetNames } from './log-event.ts';
import { wholeOf } from './presets/find.ts';
import { presets } from './presets/index.ts';
import type { Preset } from './presets/preset.ts';
import { createPresetReader, type PresetReader } from './presets/preset-reader.ts';
import { createStragglerReader } from './straggler.ts';
import { createTorchrunReader } from './torchrun.ts';
import { watchdogEvent } from './watchdog.ts';

/** Of a longer line the end is read: it has the newest state of a progress bar. */
const longest = 256 * 1024;

/** Of each part of it between carriage returns the begin is read. */
const partLength = 4096;

/** Most lines have none, and looking for one is cheap. */
const hasEscape = (text: string): boolean => text.includes('\u001B') || text.includes('\u009B');

export const createLogReader: CreateLogReader = ({ preset, patterns }) => {
  const choice = chooser(preset);
  const torchrun = createTorchrunReader();
  const straggler = createStragglerReader();
  const own = ownReader(patterns);

  const read = (text: string): readonly LogEvent[] => {
    const watched = [watchdogEvent(text), torchrun.take(text), straggler.take(text)].filter((one) => one !== undefined);
    const trained = choice.take(text).filter(({ kind }) => !own.replaces(kind));
    return [...watched, ...trained, ...own.take(text)];
  };

  return {
    take: (line) => partsOf(line).flatMap(read),
    get preset() {
      return choice.preset;
    },
  };
};

/** A progress bar writes over itself: carriage returns separate its states. */
function partsOf(line: string): readonly string[] {
  const parts = line.includes('\r') ? line.slice(-longest).split('\r') : [line];
  return parts.flatMap((part) => {
    const text = part.slice(0, partLength);
    const plain = hasEscape(text) ? withoutEscapes(text) : text;
    return plain === '' ? [] : [plain];
  });
}

/**
 * One preset, or all of them until one finds a step or a checkpoint. One that yields, because such lines are in the logs of other trainers too, is
 * replaced by one that does not.
 */
function chooser(wanted: PresetName | 'auto'): { take: PresetReader['take']; readonly preset: PresetName | undefined } {
  const names = wanted === 'auto' ? presetNames : [wanted];
  let candidates = names.map((name) => candidateFor(name, presets[name]));
  let chosen = wanted === 'auto' ? undefined : candidates[0];
  return {
    take(text) {
      let own: readonly LogEvent[] = [];
      for (const one of candidates) {
        const events = one.reader.take(text);
        if (one === chosen) own = events;
        else if (events.some(isProof)) {
          chosen = one;
          candidates = one.preset.yields ? [...candidates.filter(({ preset }) => !preset.yields), one] : [one];
          return events;
        }
      }
      return own;
    },
    get preset() {
      return chosen?.name;
    },
  };
}

const candidateFor = (name: PresetName, preset: Preset) => ({ name, preset, reader: createPresetReader(preset) });

/** Some trainers print step 0 before they begin, some frameworks on behalf of others. */
const isProof = (event: LogEvent): boolean => (event.kind === 'step' ? event.step > 0 : event.kind === 'checkpoint');

function ownReader(patterns: OwnPatterns = {}): {
  take(text: string): readonly LogEvent[];
  replaces(kind: string): boolean;
} {
  let last: number | undefined;
  return {
    replaces: (kind) =>
      (kind === 'step' && patterns.step !== undefined) || (kind === 'checkpoint' && patterns.checkpoint !== undefined),
    take(text) {
      const [step, checkpoint] = [wholeOf(patterns.step?.find(text)), wholeOf(patterns.checkpoint?.find(text))];
      const isNew = step !== undefined && step !== last;
      last = step ?? last;
      return [
        ...(isNew ? [{ kind: 'step', step } as const] : []),
        ...(checkpoint === undefined ? [] : [{ kind: 'checkpoint', step: checkpoint } as const]),
      ];
    },
  };
}
