import { Alert, Button, Group, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { isProblem } from '@steward/client';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { steward, trpc } from '../api.ts';
import type { App } from '../apps/app-of.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { newIdempotencyKey } from '../components/idempotency-key.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { RequestId } from '../components/request-id.tsx';
import { notify } from '../components/toasts.ts';
import { SchemaChanges } from '../data-permissions/schema-changes.tsx';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { VersionsTable } from './versions-table.tsx';

const PAGE_SIZE = 50;

type Props = { app: App; isOperator: boolean };
/** The change that waits for a confirmation. */
type Asked = { version: string; isRollback: boolean };

/** The fetched versions, and the page groups of the one that runs. Operators fetch, load and roll back. */
export const AppVersions = ({ app, isOperator }: Props) => {
  const { id, slug, label } = app;
  const versions = useInfiniteQuery(
    trpc.apps.versions.infiniteQueryOptions(
      { app_id: id, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
  const { fetch, load, rollback } = usePackageChanges(app);
  const [asked, setAsked] = useState<Asked>({ version: '', isRollback: false });
  const [isAsking, asking] = useDisclosure();
  const apply = ({ version, isRollback }: Asked): void => {
    load.reset();
    rollback.reset();
    if (isRollback) rollback.mutate({ app_slug: slug, app_version: version });
    else load.mutate({ app_slug: slug });
  };
  const ask = (wanted: Asked): void => {
    setAsked(wanted);
    asking.open();
  };
  const rows = versions.data?.pages.flat() ?? [];
  return (
    <>
      <Stack className="card">
        <Group justify="space-between">
          <Title order={2} size="h3">
            Versions
          </Title>
          {mayDo(useSession().roles, 'read-audit') && (
            <Link className="action-link" to="/audit" search={{ target: slug, action: 'app.load-package' }}>
              What each load has changed
            </Link>
          )}
        </Group>
        {isOperator && <FetchForm fetch={fetch} />}
        <ProblemAlert error={load.error ?? rollback.error} />
        <ProblemAlert error={versions.error} />
        {versions.isPending && <Skeleton height={160} />}
        {versions.isSuccess && rows.length === 0 && (
          <Text c="dimmed">
            No version has been fetched yet. Staff fetch the first one from the package store.
          </Text>
        )}
        {rows.length > 0 && (
          <VersionsTable
            versions={rows}
            isBusy={load.isPending || rollback.isPending}
            onLoad={isOperator ? (version) => ask({ version, isRollback: false }) : undefined}
            onRollback={isOperator ? (version) => ask({ version, isRollback: true }) : undefined}
            hasMore={versions.hasNextPage && !versions.isFetchingNextPage}
            onMore={() => void versions.fetchNextPage()}
          />
        )}
        <ConfirmModal
          isOpen={isAsking}
          title={asked.isRollback ? `Roll back to ${asked.version}?` : `Load ${asked.version}?`}
          action={asked.isRollback ? 'Roll back' : 'Load'}
          onConfirm={() => apply(asked)}
          onClose={asking.close}
        >
          <Text>
            This version replaces the texts and page groups of {label}. Edits to its texts are lost.
          </Text>
          {isAsking && !asked.isRollback && <LoadPreview id={id} />}
        </ConfirmModal>
      </Stack>
      <AppStacks id={id} />
    </>
  );
};

type Fetch = {
  /** Empty: the highest version that is not a prerelease. */
  version: string;
  /** A retry of the fetch has the same key. */
  idempotencyKey: string;
};

/** Fetches, loads and rolls back the package of an app. */
const usePackageChanges = ({ slug }: App) => {
  const queryClient = useQueryClient();
  const onSuccess = (message: string): void => {
    void queryClient.invalidateQueries(trpc.apps.pathFilter());
    void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
    notify(message);
  };
  return {
    fetch: useMutation({
      mutationFn: ({ version, idempotencyKey }: Fetch) =>
        steward.api.appPackages.fetch.mutate(
          { app_slug: slug, app_version: version },
          { context: { idempotencyKey } },
        ),
      onSuccess: () => onSuccess('Fetched. Load it to apply it.'),
    }),
    load: useMutation(trpc.appPackages.load.mutationOptions({ onSuccess: () => onSuccess('Loaded.') })),
    rollback: useMutation(
      trpc.apps.rollback.mutationOptions({ onSuccess: ({ message }) => onSuccess(`${message}.`) }),
    ),
  };
};

type FetchProps = Pick<ReturnType<typeof usePackageChanges>, 'fetch'>;

/** Downloads a version from the package store, for the next load. */
const FetchForm = ({ fetch }: FetchProps) => {
  const [version, setVersion] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        fetch.mutate({ version: version.trim(), idempotencyKey: newIdempotencyKey() });
      }}
    >
      <Stack>
        <Group align="flex-end">
          <TextInput
            label="Version in the package store"
            placeholder="The highest"
            value={version}
            onChange={({ currentTarget: { value } }) => setVersion(value)}
          />
          <Button type="submit" variant="default" loading={fetch.isPending}>
            Fetch
          </Button>
        </Group>
        <FetchProblem error={fetch.error} onRetry={() => fetch.variables && fetch.mutate(fetch.variables)} />
      </Stack>
    </form>
  );
};

type ProblemProps = { error: unknown; onRetry: () => void };

/** Why a package could not be fetched, and what to do about it. Renders nothing without an error. */
const FetchProblem = ({ error, onRetry }: ProblemProps) => {
  if (!isProblem(error, 'invalid-package', 'package-store-unavailable', 'not-found')) {
    return <ProblemAlert error={error} />;
  }
  const { code } = error.data.problem;
  const { title, advice } = ADVICE[code];
  return (
    <Alert color="red" variant="light" role="alert" title={title}>
      <Stack gap="xs" align="flex-start">
        <Text size="sm" className="message">
          {error.message}
        </Text>
        <Text size="sm">{advice}</Text>
        <RequestId error={error} />
        {code === 'package-store-unavailable' && (
          <Button variant="default" size="xs" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
};

const ADVICE = {
  'invalid-package': {
    title: 'The package is invalid',
    advice: 'Nothing was changed. Correct the package and publish it under a new version.',
  },
  'package-store-unavailable': {
    title: 'The package store is unavailable',
    advice: 'Nothing was changed, and loaded apps keep running.',
  },
  'not-found': {
    title: 'No such version',
    advice: 'Publish it first with “steward apps publish”, or leave the version empty for the highest one.',
  },
};

/** Whom the data permissions of the package that is loaded next would touch, if anyone. */
const LoadPreview = ({ id }: { id: string }) => {
  const preview = useQuery(trpc.dataPermissions.previewLoad.queryOptions({ app_id: id }, { staleTime: 0 }));
  if (preview.isPending) return <Skeleton height={40} />;
  if (!preview.data) return <ProblemAlert error={preview.error} />;
  return preview.data.touched > 0 && <SchemaChanges changes={preview.data} />;
};

/** The stacks that the app offers. */
const AppStacks = ({ id }: { id: string }) => {
  const stacks = useQuery(trpc.apps.stacks.queryOptions({ app_id: id }));
  return (
    <Stack className="card" mt="md">
      <Title order={2} size="h3">
        Page groups
      </Title>
      <Text c="dimmed" size="sm">
        Groups of pages within the app.
      </Text>
      <ProblemAlert error={stacks.error} />
      {stacks.isPending && <Skeleton height={80} />}
      {stacks.data?.length === 0 && (
        <Text c="dimmed">The app has no page groups. They come with a package.</Text>
      )}
      {stacks.data && stacks.data.length > 0 && (
        <Stack component="ul" className="plain-list" gap="xs">
          {stacks.data.map(({ id: stack, slug, label }) => (
            <Group key={stack} component="li" justify="space-between">
              <Text component="span">{label}</Text>
              <Text component="span" c="dimmed" size="sm">
                {slug}
              </Text>
            </Group>
          ))}
        </Stack>
      )}
    </Stack>
  );
};
