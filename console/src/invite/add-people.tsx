import '@mantine/dropzone/styles.css';
import { Alert, Anchor, SimpleGrid, Stack, Text, Textarea } from '@mantine/core';
import { Dropzone } from '@mantine/dropzone';
import type { RefObject } from 'react';
import type { AppOption } from './app-choice.tsx';
import type { ImportedCsv } from './parse-csv.ts';

const MAX_FILE_BYTES = 4 * 1024 * 1024;
const CSV_FILES = {
  'text/csv': ['.csv'],
  'text/plain': ['.csv', '.txt'],
  'application/vnd.ms-excel': ['.csv'],
};

type FileProps = {
  apps: readonly AppOption[];
  onFile: (file: ImportedCsv) => void;
  /** The problem of the file that was chosen last. */
  problem: string | null;
  onProblem: (problem: string) => void;
  /** Opens the file picker. */
  openFile: RefObject<(() => void) | null>;
};

type Props = FileProps & {
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  onText: (text: string) => void;
  isSending: boolean;
};

/** The people to invite: typed or pasted addresses, or a file. */
export const AddPeople = ({ field, text, onText, isSending, ...file }: Props) => (
  <SimpleGrid cols={{ base: 1, md: 2 }}>
    <Textarea
      ref={field}
      label="Email addresses"
      description="One or several: Ada Lovelace <ada@example.com>, grace@example.com"
      rows={4}
      readOnly={isSending}
      value={text}
      onChange={({ currentTarget }) => onText(currentTarget.value)}
    />
    <CsvFile {...file} />
  </SimpleGrid>
);

const CsvFile = ({ apps, onFile, problem, onProblem, openFile }: FileProps) => {
  const read = async (file: File): Promise<void> => {
    const { decodeCsv, parseCsv, UnreadableCsv } = await import('./parse-csv.ts');
    try {
      onFile(parseCsv(decodeCsv(await file.arrayBuffer()), apps));
    } catch (error) {
      if (!(error instanceof UnreadableCsv)) throw error;
      onProblem(error.message);
    }
  };
  return (
    <Stack gap="xs">
      <Dropzone
        accept={CSV_FILES}
        maxSize={MAX_FILE_BYTES}
        multiple={false}
        openRef={openFile}
        py="xs"
        onDrop={([file]) => file && void read(file)}
        onReject={() => onProblem('Drop one CSV file of at most 4 MiB.')}
        aria-label="Choose a CSV file"
        inputProps={{ 'aria-label': 'CSV file' }}
      >
        <Text fw={600} ta="center">
          Or drop a CSV file here, or choose one
        </Text>
        <Text size="sm" c="dimmed" ta="center" visibleFrom="sm">
          Its first line names the columns: email, first_name, last_name, apps, is_demo_user. Name apps by
          label or slug, separated by semicolons or commas.
        </Text>
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
