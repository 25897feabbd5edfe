import '@mantine/dropzone/styles.css';
import {
  Alert,
  Anchor,
  Button,
  Group,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  Title,
} from '@mantine/core';
import { Dropzone } from '@mantine/dropzone';
import { useDisclosure } from '@mantine/hooks';
import { type RefObject, useState } from 'react';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { AppChoice, type AppOption } from './app-choice.tsx';
import type { InviteRow, NewRow } from './invite-rows.ts';
import { type Addressee, parsePeople } from './parse-addresses.ts';
import type { ImportedCsv } from './parse-csv.ts';

const MAX_FILE_BYTES = 4 * 1024 * 1024;
const CSV_FILES = {
  'text/csv': ['.csv'],
  'text/plain': ['.csv', '.txt'],
  'application/vnd.ms-excel': ['.csv'],
};

type Defaults = Pick<InviteRow, 'apps' | 'isDemo'>;
type Props = {
  apps: readonly AppOption[];
  defaults: Defaults;
  onDefaults: (defaults: Defaults) => void;
  onAdd: (rows: NewRow[]) => void;
  onFile: (file: ImportedCsv) => void;
  /** The problem of the file that was chosen last. */
  problem: string | null;
  onProblem: (problem: string) => void;
  /** Opens the file picker. */
  openFile: RefObject<(() => void) | null>;
  listed: number;
  /** Applies the apps and the demo flag to everyone in the list. */
  onApply: () => void;
};

/** Adds people by address or from a file, with the apps and the flag for them. */
export const AddPeople = ({ apps, defaults, onDefaults, onAdd, listed, onApply, ...file }: Props) => (
  <Stack component="section" className="card" mb="md" aria-labelledby="who">
    <Title order={2} size="h3" id="who">
      Who
    </Title>
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <AddressForm
        onAdd={(people) => onAdd(people.map((person) => ({ ...defaults, ...person, errors: {} })))}
      />
      <CsvFile apps={apps} defaults={defaults} {...file} />
    </SimpleGrid>
    <Group align="flex-end">
      <Stack gap={4} w={280}>
        <Text size="sm" fw={500} aria-hidden>
          Apps
        </Text>
        <AppChoice
          label="Apps of everyone you add"
          options={apps}
          value={defaults.apps}
          onChange={(value) => onDefaults({ ...defaults, apps: value })}
        />
      </Stack>
      <Switch
        label="Demo accounts"
        checked={defaults.isDemo}
        onChange={({ currentTarget }) => onDefaults({ ...defaults, isDemo: currentTarget.checked })}
        mb={8}
      />
      {listed > 0 && <ApplyToAll apps={apps} defaults={defaults} listed={listed} onApply={onApply} />}
    </Group>
  </Stack>
);

type ApplyProps = Pick<Props, 'apps' | 'defaults' | 'listed' | 'onApply'>;

const ApplyToAll = ({ apps, defaults, listed, onApply }: ApplyProps) => {
  const [isAsking, asking] = useDisclosure();
  const labels = apps.filter(({ id }) => defaults.apps.includes(id)).map(({ label }) => label);
  return (
    <>
      <Button variant="default" onClick={asking.open}>
        Apply to everyone in the list
      </Button>
      <ConfirmModal
        isOpen={isAsking}
        title={`Apply to ${listed === 1 ? '1 person' : `${listed} people`}?`}
        action="Apply"
        onConfirm={onApply}
        onClose={asking.close}
      >
        <Text>
          {labels.length > 0
            ? `This replaces the apps of everyone in the list with ${labels.join(', ')}.`
            : 'No apps are chosen: this removes the apps of everyone in the list.'}
        </Text>
        <Text>
          {defaults.isDemo ? 'All of them become demo users.' : 'None of them will be a demo user.'}
        </Text>
      </ConfirmModal>
    </>
  );
};

const AddressForm = ({ onAdd }: { onAdd: (people: Addressee[]) => void }) => {
  const [text, setText] = useState('');
  useUnsavedWork(text.trim() !== '');
  const people = parsePeople(text);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAdd(people);
        setText('');
      }}
    >
      <Textarea
        label="Email addresses"
        description="One or many, as you have them: Ada Lovelace <ada@example.com>, grace@example.com"
        rows={4}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Button type="submit" mt="sm" variant="default" disabled={people.length === 0}>
        Add to the list
      </Button>
    </form>
  );
};

type FileProps = Pick<Props, 'apps' | 'defaults' | 'onFile' | 'problem' | 'onProblem' | 'openFile'>;

const CsvFile = ({ apps, defaults, onFile, problem, onProblem, openFile }: FileProps) => {
  const read = async (file: File): Promise<void> => {
    const { decodeCsv, parseCsv, UnreadableCsv } = await import('./parse-csv.ts');
    try {
      onFile(parseCsv(decodeCsv(await file.arrayBuffer()), apps, defaults));
    } catch (error) {
      if (!(error instanceof UnreadableCsv)) throw error;
      onProblem(error.message);
    }
  };
  return (
    <Stack gap="sm">
      <Dropzone
        accept={CSV_FILES}
        maxSize={MAX_FILE_BYTES}
        multiple={false}
        openRef={openFile}
        onDrop={([file]) => file && void read(file)}
        onReject={() => onProblem('Drop one CSV file of at most 4 MiB.')}
        aria-label="Choose a CSV file"
        inputProps={{ 'aria-label': 'CSV file' }}
      >
        <Stack align="center" gap={4} py="lg">
          <Text fw={600} ta="center">
            Drop a CSV file here, or click to choose one
          </Text>
          <Text size="sm" c="dimmed" ta="center">
            Its first line names the columns: email, first_name, last_name, apps, is_demo_user. Name apps by
            label or slug, separated by semicolons or commas.
          </Text>
        </Stack>
      </Dropzone>
      <SampleLink apps={apps} />
      {problem !== null && (
        <Alert color="orange" variant="light" role="alert">
          {problem}
        </Alert>
      )}
    </Stack>
  );
};

/** A CSV file to start from, with the slugs of the client's apps. */
const SampleLink = ({ apps }: { apps: readonly AppOption[] }) => {
  const slugs = apps.slice(0, 2).map(({ slug }) => slug);
  const lines = [
    'email,apps,is_demo_user',
    `ada@example.com,${slugs.join(' ')},false`,
    `grace@example.com,${slugs[0] ?? ''},true`,
  ];
  return (
    <Anchor
      size="sm"
      href={`data:text/csv;charset=utf-8,${encodeURIComponent(`${lines.join('\n')}\n`)}`}
      download="people.csv"
    >
      Download a sample file
    </Anchor>
  );
};
