import { Button, Skeleton, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { App } from '../apps/app-of.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { Logouts } from './logouts.tsx';
import { OpenidForm } from './openid-form.tsx';
import { OpenidRemoval } from './openid-removal.tsx';
import { type OpenidApp, openidQuery } from './use-openid.ts';
import { WhatAppNeeds } from './what-app-needs.tsx';

/** How an app logs people in with OpenID Connect, for those who may change the app. */
export const OpenidTab = ({ app }: { app: App }) => {
  const openid = useQuery(openidQuery(app.id));
  return (
    <>
      <ProblemAlert error={openid.error} />
      {openid.isPending && <Skeleton height={320} />}
      {openid.data === null && <NotSetUp app={app} />}
      {openid.data && <SetUp app={app} openid={openid.data} />}
    </>
  );
};

const NotSetUp = ({ app }: { app: App }) => {
  const [isOpen, { open, close }] = useDisclosure();
  if (isOpen) return <OpenidForm app={app} onCancel={close} />;
  return (
    <EmptyState title="Log in with OpenID Connect" action={<Button onClick={open}>Set up</Button>}>
      Apps that support OpenID Connect, such as Superset, Grafana and Metabase, log people in with Steward.
    </EmptyState>
  );
};

const SetUp = ({ app, openid }: { app: App; openid: OpenidApp }) => (
  <Stack>
    <WhatAppNeeds openid={openid} />
    <OpenidForm app={app} openid={openid} />
    <Logouts openid={openid} />
    <OpenidRemoval app={app} />
  </Stack>
);
