import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { awaitRunning, createJob, podsOf, type RunningJob } from '../../testbed/jobs.ts';
import { until } from '../../testbed/until.ts';
import { type RankStory, uidOf } from './rank-story.ts';

const secrets = { token: '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', password: 'tr0ub4dor-and-3' } as const;
const printSecretsAndFail = `echo "pulls https://ada:${secrets.password}@git.example.com/llm"; echo "HF_TOKEN=${secrets.token}"; echo "loss is nan"; exit 1`;

/** Tests in which ranks fail without a fault of their node; they need one node. */
export function dyingRanks(begin: () => RankStory): void {
  let story: RankStory;
  beforeEach(() => {
    story = begin();
  });
  afterEach(() => story.end(), 120_000);

  describe('a rank that fails', () => {
    it('has its whole job restarted at once, blames the job, and its last log lines are stored with secrets redacted', async () => {
      const job = await story.train();
      await story.faulty.order(job, 1, printSecretsAndFail);
      const record = await story.restartedOnce(job, 'pod/exit', 'user');
      const kept = [...(await story.faulty.evidenceOf(record))];
      expect(kept.filter(([, text]) => text.includes('loss is nan')).map(([file]) => file)).toEqual([
        expect.stringMatching(/^pod_llm-\w+-worker-0_pytorch(_previous)?\.log$/),
      ]);
      expect(kept.find(([file]) => file.endsWith('master-0_pytorch.log'))?.[1]).toMatch(/step \d+/);
      const texts = kept.map(([, text]) => text).join('\n');
      expect(texts).toContain('@git.example.com/llm');
      expect(texts).toContain('HF_TOKEN=');
      for (const secret of Object.values(secrets)) expect(texts).not.toContain(secret);
    });

    it('because it exceeded its memory limit also blames the job, and not its node', async () => {
      const job = await story.train({ limits: { memory: '64Mi' } });
      await story.faulty.order(job, 1, 'exec tail /dev/zero');
      const record = await story.restartedOnce(job, 'pod/oom-killed', 'user');
      expect(record?.faults[0]?.message).toContain('exit code 137');
    });
  });

  describe('a rank whose pod a user deletes', () => {
    it('is recreated by its operator, and is not a fault', async () => {
      const { live, cluster } = story.faulty;
      const job = await story.train();
      await cluster.api.core.deleteNamespacedPod({
        name: job.first[1]?.metadata?.name ?? '',
        namespace: job.namespace,
      });
      const after = await awaitRunning(cluster.api, job, { except: new Set([uidOf(job, 1) ?? '']) });
      expect(after.map(({ metadata }) => metadata?.uid)).toContain(uidOf(job, 0));
      await live.settled(job, { incidents: 0 });
      expect(await live.recoveries(job)).toEqual([]);
      expect(story.quarantined).toEqual([]);
    });
  });

  describe('an image that does not exist', () => {
    it('is not a fault, and no node is blamed for it', async () => {
      const { manifestOf, live, cluster } = story.faulty;
      const namespace = 'typing-error';
      await cluster.api.core.createNamespace({ body: { metadata: { name: namespace } } });
      const created = await createJob(
        cluster.api,
        manifestOf({ on: story.on, image: 'localhost/nobody-has-this:1', graceSeconds: 2 })(namespace),
      );
      await until('the image is not pulled', 60_000, () => isNotPulled(created));
      const job = { ...created, first: [], nodes: [], since: new Date() };
      await until('its workflow watches', 30_000, async () => {
        const { phase, because } = await live.status(job);
        return phase === 'watching' ? { found: true } : { missing: `${phase}: ${because}` };
      });
      expect(await live.recoveries(job)).toEqual([]);
      expect(story.quarantined).toEqual([]);
      await live.end(job);
    });
  });

  async function isNotPulled(job: RunningJob) {
    const pods = await podsOf(story.faulty.cluster.api, job);
    const reasons = pods.map(({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason);
    return reasons.includes('ImagePullBackOff') ? { found: true } : { missing: reasons.join() };
  }
}
