/** Reads the log of one container. */

import { withoutEscapes } from '../../contract/text.ts';
import type { CreateLogReader, LogEvent, OwnPatterns, PresetName } from './log-event.ts';
import { presetNames } from './log-event.ts';
import { wholeOf } from './presets/find.ts';
import { presets } from './presets/index.ts';
import { createPresetReader, type PresetReader } from './presets/preset-reader.ts';
import { createStragglerReader } from './straggler.ts';
import { createTorchrunReader } from './torchrun.ts';
import { watchdogEvent } from './watchdog.ts';

/** Of a longer line the end is read: it has the newest state of a progress bar. */
const longest = 256 * 1024;

/** Of each part of it between carriage returns the begin is read. */
const partLength = 4096;

const hasEscape = /[\u001B\u009B]/;

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
    const plain = hasEscape.test(text) ? withoutEscapes(text) : text;
    return plain === '' ? [] : [plain];
  });
}

/** One preset, or all of them until one finds a step or a checkpoint. */
function chooser(wanted: PresetName | 'auto'): { take: PresetReader['take']; readonly preset: PresetName | undefined } {
  const names = wanted === 'auto' ? presetNames : [wanted];
  let candidates = names.map((name) => ({ name, reader: createPresetReader(presets[name]) }));
  return {
    take(text) {
      for (const one of candidates) {
        const events = one.reader.take(text);
        if (candidates.length === 1) return events;
        if (!events.some(isProof)) continue;
        candidates = [one];
        return events;
      }
      return [];
    },
    get preset() {
      return candidates.length === 1 ? candidates[0]?.name : undefined;
    },
  };
}

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
