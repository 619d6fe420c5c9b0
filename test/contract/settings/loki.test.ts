import { describe, expect, it } from '@jest/globals';
import { controllerSettings } from '../../../contract/settings/settings.schema.ts';

const url = 'http://loki.loki.svc:3100/logs';
const queries = [{ name: 'kernel', query: '{job="kernel"}' }];
const problemsOf = (loki: object) =>
  controllerSettings.safeParse({ loki }).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ??
  [];

describe('settings of Loki', () => {
  it('ask for nothing by default', () => {
    expect(controllerSettings.parse({}).loki).toMatchObject({ queries: [], silent: 0 });
  });

  it('need an address and one query', () => {
    expect(problemsOf({ url, queries })).toEqual([]);
    expect(controllerSettings.parse({ loki: { url, queries } }).loki.queries).toMatchObject([
      { nodeLabel: 'k8s_node_name' },
    ]);
  });

  it('let pods restart only where their lines are trusted', () => {
    const podQueries = [{ name: 'nccl', query: '{app="llm"}', restart: true }];
    expect(problemsOf({ url, podQueries })).toEqual([
      expect.stringContaining('loki.podQueries.0.restart: needs trusted'),
    ]);
    expect(problemsOf({ url, podQueries: [{ ...podQueries[0], trusted: true }] })).toEqual([]);
  });

  it.each<[string, object]>([
    ['url: is needed', { podQueries: queries }],
    ['queries: two queries', { url, queries, podQueries: queries }],
    ['podQueries.0.name: must be', { url, podQueries: [{ name: 'a.b', query: 'x' }] }],
    ['url: is needed', { queries }],
    ['url: must be', { url: 'http://user:secret@loki', queries }],
    ['url: must be', { url: 'loki:3100', queries }],
    ['queries: two queries', { url, queries: [...queries, ...queries] }],
    ['queries.0.name: must be', { url, queries: [{ name: 'Kernel lines', query: 'x' }] }],
    ['overlap: must be at most oldest', { url, queries, overlap: '2h' }],
    ['tenant: must be', { url, queries, tenant: 'a\nb' }],
    ['page: ', { url, queries, page: 5001 }],
  ])('are refused with %s', (problem, loki) => {
    expect(problemsOf(loki)).toEqual([expect.stringContaining(`loki.${problem}`)]);
  });
});
