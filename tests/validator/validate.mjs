// Runs the Khronos glTF validator over files and folders: node validate.mjs [--verbose] FILE_OR_FOLDER...
// Exit status 1 when any file has an error, 2 when there are no files.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import validator from 'gltf-validator';

const verbose = process.argv.includes('--verbose');
const files = [];
for (const path of process.argv.slice(2).filter((argument) => !argument.startsWith('--'))) {
    if (!statSync(path, { throwIfNoEntry: false })) continue;
    if (statSync(path).isDirectory())
      files.push(
        ...readdirSync(path).filter((name) => /\.(glb|gltf)$/.test(name)).sort().map((name) => join(path, name)));
    else
        files.push(path);
}
if (files.length === 0) {
    console.error('No .glb or .gltf file to validate.');
    process.exit(2);
}

let errors = 0;
let warnings = 0;
for (const file of files) {
  const report = await validator.validateBytes(new Uint8Array(readFileSync(file)), {
    uri: file,
    maxIssues: 100,
    externalResourceFunction: async (uri) => new Uint8Array(readFileSync(join(dirname(file), decodeURIComponent(uri)))),
  });
  errors += report.issues.numErrors;
  warnings += report.issues.numWarnings;
  for (const issue of report.issues.messages)
    if (issue.severity === 0 || verbose)
      console.log(`${file}: ${['error', 'warning', 'info', 'hint'][issue.severity]} ${issue.code} at ` +
        `${issue.pointer ?? issue.offset}: ${issue.message}`);
}
console.log(`${files.length} files, ${errors} errors, ${warnings} warnings`);
process.exit(errors === 0 ? 0 : 1);
