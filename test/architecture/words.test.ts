/** Words that were replaced by standard terms (docs/glossary.md) must not be used again. */

import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, it } from '@jest/globals';
import { files, sources, textOf } from './sources.ts';

/** The replacement of each retired word. */
const retired: Readonly<Record<string, string>> = {
  wish: 'request, or override of a job',
  told: 'reported, notified',
  untold: 'pending',
  tell: 'report, notify',
  letter: 'message',
  mailbox: 'queue',
  delivery: 'outbox',
  news: 'change',
  voice: 'notifier',
  lane: 'batcher',
  room: 'capacity',
  blind: 'unobservable',
  sight: 'reachability',
  heard: 'last seen',
  silence: 'liveness',
  carried: 'continued',
  spent: 'usage, or budget entry',
  charge: 'budget attribution',
  ledger: 'budget category',
  spare: 'standby',
  maker: 'owner',
  leaving: 'terminating',
  imagined: 'hypothetical',
  overtime: 'overdue',
  gasp: 'final checkpoint on termination',
  lookout: 'file poller',
  courier: 'uploader',
  keeper: 'writer',
  reign: 'leader term',
  desk: 'context',
  census: 'snapshot',
  speaker: 'reporting rank',
  alarm: 'timer',
  rang: 'fired',
  aside: 'dismissed, or superseded',
  reshape: 'resize',
  victim: 'target process',
  chronicle: 'recorder',
  onlooker: 'observer',
  weather: 'fault profile',
  tale: 'scenario',
  scene: 'fixture',
  careful: 'slow path',
  sudden: 'fast path',
  surroundings: 'context',
  deed: 'required access, or action',
  heed: 'on message',
  asker: 'sender',
};

/** The words of a name: `readLastSeen` and `last-seen` have `last` and `seen`. */
const wordsOf = (name: string): string[] =>
  name
    .split(/(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());

/** Retired words in the name, singular or plural. */
const retiredIn = (name: string): string[] =>
  wordsOf(name).filter(
    (word) => Object.hasOwn(retired, word) || Object.hasOwn(retired, word.replace(/(?<=sh)es$|s$/, '')),
  );

/** This file contains the words that it forbids. */
const self = 'test/architecture/words.test.ts';

/** Names that are allowed, because they have the ordinary meaning: a letter of the alphabet. */
const ordinary: ReadonlySet<string> = new Set(['letter']);

/** Retired words that have no ordinary meaning in a sentence, and their forms in sentences. */
const inNoText =
  /\b(wish(es|ed)?|untold|mailbox(es)?|courier|lookout|keeper|reign|dying[ -]gasp|overtime|imagined|ledger|onlooker|chronicle|blind|census|stand-by|handed over|room for|no room)\b/i;
/** Ascend's own term may be named where ours is explained. */
const explained = /Ascend calls (?:it|this)(?: the)? "?dying gasp/;

function namesIn(file: string): Set<string> {
  const names = new Set<string>();
  const add = ({ name }: { readonly name: string }): void => void names.add(name);
  new Visitor({ Identifier: add, PrivateIdentifier: add }).visit(parseSync(file, textOf(file)).program);
  return names;
}

describe('retired words', () => {
  it('are found in every spelling of a name', () => {
    expect(
      ['openMailbox', 'toldTogether', 'JobWishes', 'wish-of-job'].filter((name) => retiredIn(name).length === 0),
    ).toEqual([]);
    expect(['foldHistory', 'pages', 'marketplace', 'strange'].filter((name) => retiredIn(name).length > 0)).toEqual([]);
  });

  it('are in no name of the code', () => {
    const found = sources
      .filter((file) => file !== self)
      .flatMap((file) =>
        [...namesIn(file)]
          .filter((name) => !ordinary.has(name) && retiredIn(name).length > 0)
          .map((name) => `${file}: ${name}`),
      );
    expect(found).toEqual([]);
  });

  it('are in no name of a file', () => {
    expect(files.filter((file) => retiredIn(file).length > 0)).toEqual([]);
  });

  it('are in no comment, message or document', () => {
    const texts = files.filter((file) => /\.(ts|md|yaml|tpl|txt|py)$/.test(file) && file !== self);
    const lines = texts.flatMap((file) =>
      textOf(file)
        .split('\n')
        .flatMap((line, index) =>
          inNoText.test(line) && !explained.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
        ),
    );
    expect(lines).toEqual([]);
  });
});
