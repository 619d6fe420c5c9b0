/** Settings of every role. Unknown keys are errors. Durations are written as `30s`, parsed to milliseconds, at most 20 days. */

export { type AgentSettings, agentSettings } from './agent.schema.ts';
export { type ControllerSettings, controllerSettings } from './controller.schema.ts';
export { type Response, type WorkerSettings, workerSettings } from './worker.schema.ts';
