import { Alert, Button, Group, Kbd, Stack, Text, Title } from '@mantine/core';
import { isProblem } from '@steward/client';
import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, Suspense, useEffect, useRef, useState } from 'react';
import { DateText } from '../components/date-text.tsx';
import { focusNear } from '../components/focus-return.tsx';
import { PersonLink } from '../components/person-link.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { messageOf } from '../components/screen-error.tsx';
import { lazyPart } from '../lazy-part.ts';
import type { Question } from './decision-dialog.tsx';
import {
  type AccessRequest,
  type Decision,
  daysText,
  requestName,
  type Subject,
  useDecide,
  usePendingRequests,
} from './use-requests.ts';

/** Loaded on demand: no other part of Home needs its fields. */
const DecisionDialog = lazyPart(() => import('./decision-dialog.tsx'), 'DecisionDialog');

type Props = { subject?: Subject };

/** Requests to decide: all of them, or those for an app or of a person. Renders nothing without requests. */
export const PendingRequests = ({ subject = {} }: Props) => {
  const pages = usePendingRequests(subject);
  const requests = pages.data?.pages.flat() ?? [];
  const [question, setQuestion] = useState<Question | null>(null);
  const close = (): void => setQuestion(null);
  const decision = useDecide({
    onSuccess: close,
    onError: (error) => isProblem(error, 'request-decided') && close(),
  });
  const { list, keepFocusAfter } = useFocusOnNext(requests);
  const decide = (chosen: Decision): void => {
    if (decision.isPending) return;
    keepFocusAfter(chosen.request.id);
    decision.mutate(chosen);
  };
  const hasAlert = decision.error !== null && question === null;
  if (requests.length === 0 && !pages.error && !hasAlert) return null;
  return (
    <Stack className="card" component="section" aria-labelledby="requests">
      <Group justify="space-between">
        <Title order={2} size="h3" id="requests">
          {subject.app === undefined ? 'Requests for apps' : 'Pending requests'}
        </Title>
        {requests.filter((request) => request.can_decide).length > 1 && <Shortcuts />}
      </Group>
      <ProblemAlert error={pages.error} />
      {hasAlert && <NotDecided error={decision.error} request={decision.variables?.request} />}
      <Stack component="ul" m={0} p={0} className="divided" gap="sm" ref={list}>
        {requests.map((request) => (
          <RequestRow
            key={request.id}
            request={request}
            isDeciding={decision.isPending && decision.variables.request.id === request.id}
            showsPerson={subject.email === undefined}
            showsClient={requests.some(({ client }) => client !== request.client)}
            onApprove={() => decide({ kind: 'approve', request })}
            onAsk={(kind) => {
              decision.reset();
              setQuestion({ kind, request });
            }}
          />
        ))}
      </Stack>
      {pages.hasNextPage && (
        <Group>
          <Button
            variant="default"
            loading={pages.isFetchingNextPage}
            onClick={() => void pages.fetchNextPage()}
          >
            Show more
          </Button>
        </Group>
      )}
      <Suspense>
        {question && (
          <DecisionDialog
            question={question}
            isSending={decision.isPending}
            error={decision.error}
            onDecide={decide}
            onClose={close}
          />
        )}
      </Suspense>
    </Stack>
  );
};

const Shortcuts = () => (
  <Text size="sm" c="dimmed" visibleFrom="sm">
    On a focused request: <Kbd size="xs">A</Kbd> approves, <Kbd size="xs">D</Kbd> denies
  </Text>
);

/** After a decision, focuses the row that takes the place of the decided one, so that the next can be decided at once. */
const useFocusOnNext = (requests: readonly AccessRequest[]) => {
  const list = useRef<HTMLDivElement>(null);
  const decided = useRef<{ id: number; index: number } | null>(null);
  useEffect(() => {
    if (!decided.current || requests.some(({ id }) => id === decided.current?.id)) return;
    const index = Math.min(decided.current.index, requests.length - 1);
    decided.current = null;
    const next = list.current?.children[index]?.querySelector('button');
    if (next) next.focus();
    else focusNear(document.querySelector('main'));
  }, [requests]);
  const keepFocusAfter = (id: number): void => {
    decided.current = { id, index: requests.findIndex((request) => request.id === id) };
  };
  return { list, keepFocusAfter };
};

type RowProps = {
  request: AccessRequest;
  isDeciding: boolean;
  showsClient: boolean;
  /** Whether to name the person: not on their own screen. */
  showsPerson: boolean;
  onApprove: () => void;
  /** Opens the dialog. */
  onAsk: (kind: Question['kind']) => void;
};

/** While the focus is in the row, `a` approves and `d` denies. */
const RequestRow = (props: RowProps) => {
  const { request, isDeciding, showsClient, showsPerson, onApprove, onAsk } = props;
  const name = requestName(request);
  const onKeyDown = (event: KeyboardEvent): void => {
    const run = { a: onApprove, d: () => onAsk('deny') }[event.key];
    if (!run || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    run();
  };
  return (
    <Group component="li" justify="space-between" gap="xs" {...(request.can_decide && { onKeyDown })}>
      <Stack gap={0} flex="1 1 16rem" miw={0}>
        <div>
          {showsPerson ? (
            <>
              <PersonLink person={request} /> asks for{' '}
            </>
          ) : (
            'Asks for '
          )}
          <Link className="text-link" to="/apps/$id" params={{ id: request.app }}>
            {request.app_label}
          </Link>
          {showsClient && ` of ${request.client_name}`} {daysText(request.days)}
        </div>
        <Text size="sm" c="dimmed" component="div" className="break-words">
          {request.reason !== '' && <div>“{request.reason}”</div>}
          <DateText date={request.created_at} />
        </Text>
      </Stack>
      {request.can_decide && (
        <Group gap="xs">
          <Button
            size="compact-sm"
            aria-label={`Approve ${name}`}
            aria-keyshortcuts="a"
            loading={isDeciding}
            onClick={onApprove}
          >
            Approve
          </Button>
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`Deny ${name}`}
            aria-keyshortcuts="d"
            onClick={() => onAsk('deny')}
          >
            Deny
          </Button>
          <Button
            variant="subtle"
            size="compact-sm"
            aria-label={`Until… Approve ${name} until another date`}
            onClick={() => onAsk('approve')}
          >
            Until…
          </Button>
        </Group>
      )}
    </Group>
  );
};

type NotDecidedProps = { error: unknown; request: AccessRequest | undefined };

/** For example, someone else has decided before. */
const NotDecided = ({ error, request }: NotDecidedProps) => {
  if (!isProblem(error, 'request-decided') || !request) return <ProblemAlert error={error} />;
  return (
    <Alert color="yellow" variant="light" role="alert" title={requestName(request)}>
      {messageOf(error)}
    </Alert>
  );
};
