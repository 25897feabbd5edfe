import { Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { trpc } from '../api.ts';
import type { App } from '../apps/app-of.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { mayDo } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { FetchForm } from './fetch-form.tsx';
import { LoadPreview } from './load-preview.tsx';
import { usePackageChanges } from './use-package-changes.ts';
import { VersionsTable } from './versions-table.tsx';

const PAGE_SIZE = 50;

type Props = { app: App; isOperator: boolean };
/** The change that waits for a confirmation. */
type Asked = { version: string; isRollback: boolean };

/** The fetched versions. Operators fetch, load and roll back. */
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
        <Text c="dimmed">No version was fetched yet. Staff fetch the first one from the package store.</Text>
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
        <Text>This version replaces the texts and page groups of {label}. Edits to its texts are lost.</Text>
        {isAsking && !asked.isRollback && <LoadPreview id={id} />}
      </ConfirmModal>
    </Stack>
  );
};
