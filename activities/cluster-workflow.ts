/** The workflow of the cluster, as activities ask it: it is started where it does not run. */

import { WithStartWorkflowOperation } from '@temporalio/client';
import { type Workflow, WorkflowNotFoundError } from '@temporalio/common';
import type { ClusterStatus } from '../contract/cluster.ts';
import { clusterWorkflowId } from '../contract/ids.ts';
import { statusQuery } from '../contract/wire/messages.ts';
import { searchAttributePairs } from '../contract/wire/search-attributes.ts';
import { clusterStart } from '../contract/wire/starts.ts';
import { clusterUid } from '../kube/client/connection.ts';
import type { Dependencies } from './dependencies.ts';

/** Time-out of an answer, ms: a call that hangs would hold up every later one of this worker. */
const answerMs = 10_000;

type Needs = Pick<Dependencies, 'kube' | 'settings' | 'temporal' | 'now'>;

export class ClusterWorkflow {
  readonly #needs: Needs;
  #uid: string | undefined;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** Answer of an update. Starts the workflow if it does not run: Temporal or a person may have terminated it. */
  async update<Request, Answer>(name: string, request: Request): Promise<Answer> {
    const { kube, settings, temporal, now } = this.#needs;
    this.#uid ??= await clusterUid(kube);
    const { workflowType, attributes, ...start } = clusterStart(this.#uid, settings.temporal.taskQueue);
    const startWorkflowOperation = new WithStartWorkflowOperation<Workflow>(workflowType, {
      ...start,
      workflowIdConflictPolicy: 'USE_EXISTING',
      typedSearchAttributes: searchAttributePairs(attributes),
    });
    return temporal().withDeadline(now() + answerMs, () =>
      temporal().workflow.executeUpdateWithStart<Workflow, Answer, [Request]>(name, {
        args: [request],
        startWorkflowOperation,
      }),
    );
  }

  status(): Promise<ClusterStatus> {
    return this.#handle.query<ClusterStatus>(statusQuery);
  }

  async signal<Payload>(name: string, payload: Payload): Promise<void> {
    await this.#handle.signal<[Payload]>(name, payload);
  }

  /** Whether the workflow for which something was granted still runs. */
  async runs(workflowId: string): Promise<boolean> {
    try {
      return (await this.#needs.temporal().workflow.getHandle(workflowId).describe()).status.name === 'RUNNING';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }

  get #handle() {
    return this.#needs.temporal().workflow.getHandle(clusterWorkflowId);
  }
}
