import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { readAnswer } from '../../../controller/loki/answer.ts';

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/loki/${name}`, import.meta.url), 'utf8');

describe('an answer of Loki', () => {
  it('has the lines of all streams by time, with structured metadata over the labels of the stream', () => {
    expect(readAnswer(fixture('categorized.json'))).toEqual([
      {
        at: 1763708400000000001n,
        text: 'NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.',
        labels: { job: 'kernel', k8s_node_name: 'gpu-2', detected_level: 'unknown' },
      },
      { at: 1763708400000000002n, text: 'a "quoted" line', labels: { job: 'kernel', k8s_node_name: 'gpu-1' } },
      { at: 1763708400000000003n, text: 'third', labels: { job: 'kernel', k8s_node_name: 'gpu-1' } },
    ]);
  });

  it('is the same for a Loki that knows no flags and merges the metadata into the stream', () => {
    expect(readAnswer(fixture('merged.json'))).toMatchObject([
      { at: 1763708400000000001n, labels: { k8s_node_name: 'gpu-2', detected_level: 'unknown' } },
    ]);
  });

  it('may have no lines', () => {
    expect(readAnswer('{"status":"success","data":{"resultType":"streams","result":[]}}')).toEqual([]);
  });

  it.each([
    ['is no JSON', 'too many outstanding requests'],
    ['has no data', '{"status":"error","error":"x"}'],
    ['does not ask for lines', '{"status":"success","data":{"resultType":"matrix","result":[]}}'],
    ['no values', '{"status":"success","data":{"resultType":"streams","result":[{}]}}'],
    ['no pair', '{"status":"success","data":{"resultType":"streams","result":[{"values":[["x","y"]]}]}}'],
    ['no pair', '{"status":"success","data":{"resultType":"streams","result":[{"values":[[1,"y"]]}]}}'],
  ])('cannot be used when it %s', (why, text) => {
    expect(readAnswer(text)).toEqual({ unusable: expect.stringContaining(why) });
  });

  it('never makes the reader fail', () =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((data) => `{"status":"success","data":${data}}`),
          fc
            .json()
            .map((result) => `{"status":"success","data":{"resultType":"streams","result":[{"values":[${result}]}]}}`),
        ),
        (text) => {
          expect(typeof readAnswer(text)).toBe('object');
        },
      ),
    ));
});
