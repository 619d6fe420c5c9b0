import { describe, expect, it } from '@jest/globals';
import { errorCatalogue } from '../../contract/errors.ts';
import { annotations, eventReasons, labels, searchAttributes, workflowTypes } from '../../contract/ids.ts';
import { signals, updates } from '../../contract/wire/messages.ts';
import { codeOf, folderOf, sources, textOf } from './sources.ts';

const code = new Map(
  ['workflows', 'activities', 'controller', 'kube', 'agent', 'cli', 'policy', 'faults', 'contract']
    .flatMap((folder) => sources.filter((file) => folderOf(file) === folder))
    .map((file) => [file, codeOf(textOf(file))]),
);
const saidIn = (pattern: RegExp, except: string): boolean =>
  [...code].some(([file, text]) => file !== except && pattern.test(text));

describe('every name of the contract is used', () => {
  it.each(Object.keys(eventReasons))('Event reason %s', (key) => {
    expect(saidIn(new RegExp(`eventReasons\\.${key}\\b|'${key}'`), 'contract/ids.ts')).toBe(true);
  });

  it.each([
    ...Object.keys(annotations).map((key) => `annotations.${key}`),
    ...Object.keys(labels).map((key) => `labels.${key}`),
  ])('%s', (name) => {
    expect(saidIn(new RegExp(`\\b${name.replace('.', '\\.')}\\b`), 'contract/ids.ts')).toBe(true);
  });

  it.each([
    ...Object.keys(signals).map((key) => `signals.${key}`),
    ...Object.keys(updates).map((key) => `updates.${key}`),
  ])('%s has a workflow that takes it and code that sends it', (name) => {
    // Names are also used as plain strings, where the compiler checks them.
    const uses = new RegExp(`\\b${name.replace('.', '\\.')}\\b|'${name.split('.')[1]}'`, 'g');
    const found = [...code].flatMap(([file, text]) =>
      file === 'contract/wire/messages.ts' ? [] : (text.match(uses) ?? []).map(() => folderOf(file)),
    );
    expect(found).toContain('workflows');
    expect(found.length).toBeGreaterThan(1);
  });

  it.each(Object.keys(searchAttributes))('search attribute %s', (name) => {
    expect(saidIn(new RegExp(`\\b${name}:`), 'contract/ids.ts')).toBe(true);
  });

  it('workflow types are what workflows/index.ts exports', () => {
    const exported = [...textOf('workflows/index.ts').matchAll(/export \{ (\w+) \}/g)].map(([, name = '']) => name);
    expect(exported.toSorted()).toEqual(Object.values(workflowTypes).toSorted());
  });

  it.each(Object.keys(errorCatalogue))('error %s', (key) => {
    expect(saidIn(new RegExp(`['"\`]${key.replace('.', '\\.')}['"\`]`), 'contract/errors.ts')).toBe(true);
  });
});
