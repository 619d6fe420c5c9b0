import { randomUUID } from 'node:crypto';
import type { MaintenanceStatus } from '../../contract/node/maintenance.ts';
import { updates } from '../../contract/wire/messages.ts';
import { maintenanceStart } from '../../contract/wire/starts.ts';
import { nodeView } from '../support/builders.ts';
import { eventually } from '../support/rig.ts';
import type { Recording } from './recording.ts';

const by = { by: 'ada', reason: 'driver 580' };
const hour = 3_600_000;

/** One that is held, given another window, moves a job, and is ended by a person. */
export const maintenanceRecording: Recording = async ({ rig, cluster }) => {
  const node = `gpu-${randomUUID().slice(0, 8)}`;
  cluster.nodes.set(node, nodeView({ name: node, uid: `uid-${node}` }));
  cluster.maintenance.jobs = ['pytorchjob/llm in train'];
  cluster.maintenance.hold = 'paused by bob: network work';
  const plan = (hours: number) => ({ ...by, from: Date.now() + 30_000, until: Date.now() + hours * hour });
  const { workflowType, workflowId, taskQueue, args } = maintenanceStart({ node, plan: plan(1) }, rig.taskQueue);
  const handle = await rig.client.workflow.start(workflowType, { workflowId, taskQueue, args });
  const isSeen = (text: string) =>
    eventually(
      () => handle.query<MaintenanceStatus>('status'),
      ({ because }) => because.includes(text),
    );
  await isSeen('held: paused by bob');
  cluster.maintenance.hold = undefined;
  await handle.executeUpdate(updates.replan, { args: [plan(2)] });
  await isSeen('waits until these jobs have left');
  cluster.maintenance.jobs = [];
  await isSeen('it is yours until');
  await handle.executeUpdate(updates.cancel, { args: [by] });
  await handle.result();
  return { 'maintenance/held-replanned-cancelled': workflowId };
};
