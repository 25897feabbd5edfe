import { Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ProviderValues } from './provider-values.tsx';
import { type Connection, unfinishedOf } from './providers.ts';
import classes from './set-up.module.css';
import { ChooseProvider, Test, TurnOn } from './set-up-steps.tsx';
import { useSetUp } from './use-set-up.ts';

type Props = { client: number; id: number | null };

/** Connects a client to its identity provider, step by step. It can be left and continued at each. */
export const SetUp = ({ client, id }: Props) => {
  const { close } = useSetUp();
  const connections = useQuery(trpc.sso.list.queryOptions({ id: client }));
  const connection = connections.data?.find((one) => one.id === id);
  const isSettable = id === null || connection?.is_active === false;
  const isGone = connections.isSuccess && !connections.isFetching && id !== null && !connection;
  return (
    <Stack className="card" component="section" aria-labelledby="set-up">
      <Group justify="space-between">
        <Title order={2} size="h3" id="set-up">
          Set up single sign-on{connection && ` with ${connection.name}`}
        </Title>
        <Button variant="default" onClick={close}>
          {isSettable ? (connection ? 'Continue later' : 'Cancel') : 'Close'}
        </Button>
      </Group>
      <ProblemAlert error={connections.error} />
      {isGone && <Text>This connection was removed.</Text>}
      {connection?.is_active && <Text>{connection.name} is on. Its settings are in the list.</Text>}
      {id !== null && !connection && connections.isPending && <Skeleton height={240} />}
      {isSettable && <Steps key={id} client={client} connection={connection} />}
    </Stack>
  );
};

const STEPS = ['Provider', 'Values', 'Test', 'Turn on'] as const;
type Step = (typeof STEPS)[number];

const stepOf = (connection: Connection | undefined): Step => {
  if (!connection) return 'Provider';
  const left = unfinishedOf(connection);
  if (left === 'values') return 'Values';
  return left === 'test' ? 'Test' : 'Turn on';
};

const Steps = ({ client, connection }: { client: number; connection: Connection | undefined }) => {
  const [step, setStep] = useState(stepOf(connection));
  const top = useRef<HTMLOListElement>(null);
  const isFirst = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each step
  useEffect(() => {
    if (!isFirst.current) top.current?.focus();
    isFirst.current = false;
  }, [step]);
  const at = (to: Step) => () => setStep(to);
  return (
    <>
      <ol
        className={classes.steps}
        ref={top}
        tabIndex={-1}
        aria-label={`Step ${STEPS.indexOf(step) + 1} of ${STEPS.length}: ${step}`}
      >
        {STEPS.map((name) => (
          <li key={name} {...(name === step && { 'aria-current': 'step' })}>
            {name}
          </li>
        ))}
      </ol>
      {step === 'Provider' && (
        <ChooseProvider client={client} connection={connection} onDone={at('Values')} />
      )}
      {connection && step === 'Values' && (
        <ProviderValues client={client} connection={connection} onBack={at('Provider')} onDone={at('Test')} />
      )}
      {connection && step === 'Test' && (
        <Test client={client} connection={connection} onBack={at('Values')} />
      )}
      {connection && step === 'Turn on' && (
        <TurnOn client={client} connection={connection} onBack={at('Test')} />
      )}
    </>
  );
};
