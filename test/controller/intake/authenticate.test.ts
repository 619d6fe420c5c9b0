import { describe, expect, it } from '@jest/globals';
import type { Fault } from '../../../contract/faults/faults.ts';
import { KcoverError } from '../../../contract/errors.ts';
import type { ReportBatch } from '../../../contract/wire/reports.ts';
import { rememberAgents } from '../../../controller/intake/agents.ts';
import { authenticator } from '../../../controller/intake/authenticate.ts';
import {
  acknowledgedBy,
  decideClaim,
  decideReporter,
  newReports,
  objection,
  type ReporterIdentity,
} from '../../../controller/intake/reporter.ts';
import type { LivePod, ReviewedToken } from '../../../kube/client/tokens.ts';
import { serviceToken } from '../../support/service-token.ts';

const account = 'kcover-system/kcover-agent';
const good: ReviewedToken = {
  authenticated: true,
  user: 'system:serviceaccount:kcover-system:kcover-agent',
  pod: { name: 'agent-1', uid: 'pod-uid' },
  node: 'gpu-1',
};
const live: LivePod = { uid: 'pod-uid', node: 'gpu-1', dead: false };
const without = <K extends keyof ReviewedToken>(key: K): ReviewedToken =>
  Object.fromEntries(Object.entries(good).filter(([name]) => name !== key)) as unknown as ReviewedToken;

describe('who may report', () => {
  it.each<[string, ReviewedToken, string]>([
    ['accepts a token of the agent that is bound to a pod on a node', good, 'claimed'],
    ['rejects a token that is not valid', { ...good, authenticated: false }, 'unauthenticated'],
    [
      'refuses the same name in another namespace',
      { ...good, user: 'system:serviceaccount:default:kcover-agent' },
      'other-account',
    ],
    [
      'refuses another account of the same namespace',
      { ...good, user: 'system:serviceaccount:kcover-system:default' },
      'other-account',
    ],
    ['refuses a person', { ...good, user: 'kcover-agent' }, 'other-account'],
    ['rejects a token that is bound to no pod', without('pod'), 'unauthenticated'],
    ['rejects a token of a pod without a node', without('node'), 'unauthenticated'],
  ])('%s', (_sentence, review, expected) => {
    const decision = decideClaim(review, account);
    expect(decision.kind === 'refused' ? decision.rejection : decision.kind).toBe(expected);
  });

  it.each<[string, ReviewedToken, string]>([
    [
      'accepts a token of any account of a pod where none is named',
      { ...good, user: 'system:serviceaccount:train:default' },
      'claimed',
    ],
    ['refuses a person even then', { ...good, user: 'kcover-agent' }, 'other-account'],
  ])('%s', (_sentence, review, expected) => {
    const decision = decideClaim(review, undefined);
    expect(decision.kind === 'refused' ? decision.rejection : decision.kind).toBe(expected);
  });

  it.each<[string, LivePod | undefined, string]>([
    ['accepts a live pod', live, 'reporter'],
    ['refuses a pod that is gone', undefined, 'dead-pod'],
    ['refuses a pod of the same name with another UID', { ...live, uid: 'other' }, 'dead-pod'],
    ['refuses a pod that is terminating', { ...live, dead: true }, 'dead-pod'],
    ['refuses a pod on another node than its token says', { ...live, node: 'gpu-2' }, 'other-node'],
  ])('%s', (_sentence, pod, expected) => {
    const decision = decideReporter(
      { kind: 'claimed', namespace: 'kcover-system', pod: { name: 'agent-1', uid: 'pod-uid' }, node: 'gpu-1' },
      pod,
    );
    expect(decision.kind === 'refused' ? decision.rejection : decision.kind).toBe(expected);
  });
});

/** One of many similar tokens. */
const tokenOf = (name: string): string => `Bearer ${serviceToken({}, name)}`;

describe('authentication', () => {
  function cluster(review: ReviewedToken = good, pod: LivePod | undefined = live) {
    const asked: string[] = [];
    let time = 0;
    let inFlight = 0;
    let most = 0;
    let state = { review, pod, broken: false, hold: Promise.resolve() };
    const authenticate = authenticator({
      audience: 'kcover-controller',
      account,
      now: () => time,
      capacity: 2,
      source: {
        async review(token) {
          asked.push(token);
          most = Math.max(most, (inFlight += 1));
          await state.hold;
          inFlight -= 1;
          if (state.broken) throw new KcoverError('kube.unreachable', 'connect ECONNREFUSED 10.0.0.1:6443');
          return state.review;
        },
        pod: async () => state.pod,
      },
    });
    return {
      authenticate: (authorization: string | undefined, from = '10.0.0.1') => authenticate(authorization, from),
      asked,
      mostInFlight: () => most,
      later: (ms: number) => (time += ms),
      change: (next: Partial<typeof state>) => (state = { ...state, ...next }),
    };
  }

  it('asks the API server once a minute for one token', async () => {
    const { authenticate, asked, later } = cluster();
    await authenticate(tokenOf('t'));
    later(59_999);
    expect(await authenticate(tokenOf('t'))).toEqual({ kind: 'reporter', node: 'gpu-1', podUid: 'pod-uid' });
    expect(asked).toHaveLength(1);
    later(1);
    await authenticate(tokenOf('t'));
    expect(asked).toHaveLength(2);
  });

  it('remembers a refusal for 5 s', async () => {
    const { authenticate, asked, change, later } = cluster({ ...good, authenticated: false });
    for (let again = 0; again < 100; again++)
      expect(await authenticate(tokenOf('t'))).toMatchObject({ rejection: 'unauthenticated' });
    expect(asked).toHaveLength(1);
    change({ review: good });
    later(5000);
    expect(await authenticate(tokenOf('t'))).toMatchObject({ kind: 'reporter' });
    expect(asked).toHaveLength(2);
  });

  it('remembers no more tokens than its capacity', async () => {
    const { authenticate, asked } = cluster();
    for (const token of ['a', 'b', 'c', 'a']) await authenticate(tokenOf(token));
    expect(asked).toHaveLength(4);
  });

  it('asks once for one token, however many requests have it at the same moment', async () => {
    const { authenticate, asked } = cluster();
    const answers = await Promise.all(Array.from({ length: 500 }, () => authenticate(tokenOf('t'))));
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['reporter']));
    expect(asked).toHaveLength(1);
  });

  it('has few reviews in flight, keeps some of them for pods that were accepted before, and turns the others away for a while', async () => {
    const { authenticate, asked, mostInFlight, change, later } = cluster();
    await authenticate(tokenOf('agent'));
    later(60_000);
    const hold = Promise.withResolvers<void>();
    change({ hold: hold.promise });
    const flood = Array.from({ length: 2000 }, (_, index) =>
      authenticate(tokenOf(`flood-${index}`), `10.1.0.${index % 200}`),
    );
    // A kubelet renews the token of a pod: the token changes, the pod does not.
    const agent = authenticate(tokenOf('renewed'));
    hold.resolve();
    expect(await agent).toMatchObject({ kind: 'reporter' });
    const answers = await Promise.all(flood);
    expect(
      answers.filter(
        (answer) => answer.kind === 'refused' && answer.rejection === 'too-many' && answer.retryAfterMs === 1000,
      ),
    ).toHaveLength(1988);
    expect(mostInFlight()).toBe(13);
    expect(asked).toHaveLength(14);
  });

  it('reviews at most two tokens of one address at once, and is ready for others', async () => {
    const { authenticate, mostInFlight, change } = cluster();
    const hold = Promise.withResolvers<void>();
    change({ hold: hold.promise });
    const flood = Array.from({ length: 100 }, (_, index) => authenticate(tokenOf(`flood-${index}`)));
    const other = authenticate(tokenOf('other'), '10.0.0.2');
    hold.resolve();
    expect((await Promise.all(flood)).filter(({ kind }) => kind === 'reporter')).toHaveLength(2);
    expect(await other).toMatchObject({ kind: 'reporter' });
    expect(mostInFlight()).toBe(3);
    expect(await authenticate(tokenOf('flood-99'))).toMatchObject({ kind: 'reporter' });
  });

  it('says that the API server cannot be asked, but not its address', async () => {
    const { authenticate, change } = cluster();
    change({ broken: true });
    const answer = await authenticate(tokenOf('t'));
    expect(answer).toMatchObject({ rejection: 'kube-unreachable', internal: expect.stringContaining('10.0.0.1') });
    expect(answer).toMatchObject({ because: expect.not.stringContaining('10.0.0.1') });
  });

  it.each<[string, string | undefined, string]>([
    ['nothing', undefined, 'unauthenticated'],
    ['an empty header', '', 'unauthenticated'],
    ['a password', 'Basic dTpw', 'unauthenticated'],
    ['two words', 'Bearer a b', 'unauthenticated'],
    ['a long text', `Bearer ${'x'.repeat(9000)}`, 'unauthenticated'],
    ['a text that is no token', 'Bearer secret', 'unauthenticated'],
    ['a token without a signature', `Bearer ${serviceToken({}, '')}`, 'unauthenticated'],
    ['a token whose middle is no JSON', 'Bearer eyJh.eyJh.c2ln', 'unauthenticated'],
    [
      'a token for another audience',
      `Bearer ${serviceToken({ audience: 'https://kubernetes.default.svc' })}`,
      'unauthenticated',
    ],
    ['a token that has expired', `Bearer ${serviceToken({ expires: 1_700_000_000 })}`, 'unauthenticated'],
    ['a token of no pod', `Bearer ${serviceToken({ pod: undefined })}`, 'unauthenticated'],
    ['a token of another account', `Bearer ${serviceToken({ account: 'train:default' })}`, 'other-account'],
    ['a token of a person', `Bearer ${serviceToken({ account: '' })}`, 'other-account'],
  ])('asks the API server nothing about %s', async (_what, header, rejection) => {
    const { authenticate, asked } = cluster();
    expect(await authenticate(header)).toMatchObject({ rejection });
    expect(asked).toEqual([]);
  });
});

const bootId = '6f9d2c1e';
const fault = (more: Partial<Fault> = {}): Fault => ({
  id: `kernel/${bootId}/1`,
  source: 'kernel',
  code: 'xid/79',
  message: 'm',
  seenAt: '2026-11-21T07:00:00Z',
  kernel: { bootId, sequence: 1 },
  ...more,
});
const batch = (more: Partial<ReportBatch> = {}): ReportBatch => ({
  schema: 1,
  node: 'gpu-1',
  bootId,
  stream: 's',
  reports: [],
  gaps: [],
  ...more,
});
const reporter: ReporterIdentity = { kind: 'reporter', node: 'gpu-1', podUid: 'pod-uid' };

describe('a batch', () => {
  it.each<[string, ReportBatch, string | undefined]>([
    ['is taken when it is of the node of its sender', batch({ reports: [{ seq: 1, fault: fault() }] }), undefined],
    ['is refused for another node', batch({ node: 'gpu-2' }), 'other-node'],
    [
      'is refused with a fault id of another boot',
      batch({ reports: [{ seq: 1, fault: fault({ id: 'kernel/other/1' }) }] }),
      'malformed',
    ],
    [
      'is refused with a fault id of a pod',
      batch({ reports: [{ seq: 1, fault: fault({ id: 'pod/uid/exit' }) }] }),
      'malformed',
    ],
    [
      'is refused with a kernel position of another boot',
      batch({ reports: [{ seq: 1, fault: fault({ kernel: { bootId: 'other', sequence: 1 } }) }] }),
      'malformed',
    ],
  ])('%s', (_sentence, given, expected) => {
    expect(objection(given, reporter)?.rejection).toBe(expected);
  });

  it('blames the node of its sender, whatever its faults say', () => {
    const reports = [
      { seq: 1, fault: fault({ node: 'gpu-2' }) },
      { seq: 2, fault: fault() },
    ];
    expect(newReports(batch({ reports }), reporter, 0).map(({ fault: { node } }) => node)).toEqual(['gpu-1', 'gpu-1']);
  });

  it('reduces whatever a node sends to plain lines', () => {
    const hostile = 'a\u001b[2Jb\nc\u202Ed\uD800';
    const [report] = newReports(
      batch({ reports: [{ seq: 1, fault: fault({ message: hostile, evidence: [hostile] }) }] }),
      reporter,
      0,
    );
    expect(report?.fault).toMatchObject({ message: 'ab cd\uFFFD', evidence: ['ab cd\uFFFD'] });
  });

  it('has nothing new below what was acknowledged for its node, boot and stream', () => {
    const agents = rememberAgents(() => 0);
    const first = batch({ reports: [4, 5].map((seq) => ({ seq, fault: fault() })) });
    agents.acknowledge(first, acknowledgedBy(first.reports, agents.acknowledged(first)));
    expect(newReports(first, reporter, agents.acknowledged(first))).toEqual([]);
    for (const other of [batch({ stream: 'new' }), batch({ bootId: 'new' }), batch({ node: 'gpu-2' })])
      expect(agents.acknowledged(other)).toBe(0);
    expect(acknowledgedBy([], agents.acknowledged(first))).toBe(5);
  });

  it('counts an agent as seen for the given time', () => {
    let time = 0;
    const agents = rememberAgents(() => time);
    agents.markSeen(batch());
    time = 50_000;
    agents.markSeen(batch({ node: 'gpu-2' }));
    time = 70_000;
    expect(agents.seenWithin(60_000)).toBe(1);
    expect(agents.get('gpu-1')).toEqual({ at: 0, bootId });
  });
});
