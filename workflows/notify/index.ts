import { condition, continueAsNew, defineQuery, defineSignal, setHandler, sleep } from '@temporalio/workflow';
import { eventReasons } from '../../contract/ids.ts';
import type { NotifyInput, NotifyStatus } from '../../contract/notify/notification.ts';
import type { NotifyPayload } from '../../contract/notify/payload.ts';
import { signals, statusQuery } from '../../contract/wire/messages.ts';
import { isHistoryLong } from '../arrivals.ts';
import { showDetails } from '../attributes.ts';
import { isObject, textOf } from '../faults.ts';
import { announce, attempt, awaitLastMessages, perform } from '../proxies.ts';
import { firstState, nextBatch, type NotifyState, withArrival, withResult } from './queue.ts';

/** Between two requests to one receiver: the rest waits and is sent as one. */
const pause = '1s';

/** Without anything to send for so long, it ends; the next notification starts it again. */
const idle = '1h';

/** Sends notifications of decisions to one receiver, one after the other. A receiver that is down holds up only its own. */
export async function notify({
  route,
  state: continued,
}: NotifyInput & { readonly state?: NotifyState }): Promise<NotifyStatus> {
  let state = continued ?? firstState(route);
  setHandler(defineQuery<NotifyStatus>(statusQuery), () => statusOf(state));
  setHandler(defineSignal<[NotifyPayload]>(signals.notify), (payload) => {
    if (isPayload(payload)) state = withArrival(state, payload);
  });
  for (;;) {
    show(state);
    if (isHistoryLong()) {
      await awaitLastMessages();
      return continueAsNew<typeof notify>({ route, state });
    }
    if (!(await condition(() => state.waiting.length > 0 || isHistoryLong(), idle))) return statusOf(state);
    if (state.waiting.length > 0) await sendNext();
  }

  async function sendNext(): Promise<void> {
    const { batch, more, rest } = nextBatch(state);
    state = rest;
    show(state);
    const [first] = batch;
    if (!first) return;
    const what = batch.length === 1 ? first.notification.reason : `${batch.length + more} notifications as one`;
    const notifications = batch.map(({ notification }) => notification);
    const sent = await attempt(
      perform('deliverNotification', `notify ${route}: ${what}`, { route, notifications, more }),
    );
    const because = 'failed' in sent ? sent.failed : undefined;
    state = withResult(state, batch.length + more, because);
    if (because !== undefined) announceFailure(first, because);
    await sleep(pause);
  }

  function announceFailure({ notification, object }: NotifyPayload, because: string): void {
    void announce({
      about: object,
      type: 'Warning',
      reason: eventReasons.notificationFailed,
      message: `route ${route} was not notified of ${notification.reason} of ${notification.about}: ${because}; kcover notify test ${route} shows whether it works now`,
      key: `${notification.id}/${route}`,
    });
  }
}

const isPayload = (payload: unknown): payload is NotifyPayload =>
  isObject(payload) &&
  isObject(payload['object']) &&
  isObject(payload['notification']) &&
  textOf(payload['notification']['id']) !== undefined;

const statusOf = ({ route, waiting, more, delivered, failed, because }: NotifyState): NotifyStatus => ({
  route,
  waiting: waiting.length + more,
  delivered,
  failed,
  ...(because !== undefined && { because }),
});

function show(state: NotifyState): void {
  const { route, waiting, delivered, failed, because } = statusOf(state);
  showDetails(`route ${route}`, [
    ['waiting', `${waiting}`],
    ['delivered', `${delivered}`],
    ['failed', `${failed}`],
    ['last failure', because],
  ]);
}
