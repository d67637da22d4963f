import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import type { Show } from '../../frame/answers.ts'
import { consoleHeaders, ownFileHeaders } from '../../frame/headers.ts'
import { withLinkedIds } from '../../frame/ids.ts'
import { consolePage } from '../console-page.ts'
import { type ConsoleDependencies, noSuchRun, servePage, showNotFound } from '../serve-page.ts'
import { type ReportFormat, reportFormats } from './report-file.ts'
import { fileOf, reportFor } from './report-page.ts'
import { downloads, reportParts } from './view.ts'

export function mountReports(app: Hono, pages: ConsoleDependencies): void {
  servePage(app, '/console/runs/:runId/report', pages, showReport)
}

const showReport: Show<ConsoleDependencies> = async (c, pages, signedIn) => {
  const { environment, store } = pages
  const runId = c.req.param('runId') ?? ''
  const requestedFormat = c.req.query('format')
  const format = reportFormats.find((name) => name === requestedFormat)
  const purpose = format === undefined ? 'page' : 'download'
  const madeReport = await reportFor(pages, { partyId: signedIn.user.partyId, runId, environment, purpose })
  if (madeReport === undefined) return showNotFound(c, signedIn, noSuchRun)
  if (format !== undefined) return downloadResponse(c, fileOf(store, madeReport, format), { runId, format })
  const page = consolePage({
    title: 'Run report',
    main: html`${downloads(runId)}${reportParts(madeReport.report, madeReport.madeAt, withLinkedIds)}`,
  })
  return c.html(page, 200, consoleHeaders)
}

const types = {
  html: 'text/html; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  json: 'application/json',
} as const satisfies Record<ReportFormat, string>

/**
 * Returns the file as a download. The file name contains the run id, which has only characters that every system allows
 * in file names.
 */
function downloadResponse(
  c: Context,
  file: AsyncGenerator<string>,
  { runId, format }: { runId: string; format: ReportFormat },
): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await file.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    cancel: () => void file.return(undefined),
  })
  const name = `run-report-${runId}.${format}`
  return c.body(body, 200, {
    ...ownFileHeaders,
    'Content-Type': types[format],
    'Content-Disposition': `attachment; filename="${name}"`,
    'Content-Security-Policy': "default-src 'none'; sandbox",
  })
}
