// One attempt at one step of a job: its command, its environment, its directory, its child.

#include "exec/job_run.h"

#include "base/alloc.h"
#include "base/beneath.h"
#include "base/text.h"
#include "state/publish.h"
#include "gate/gate.h"
#include "hosts/hosts.h"
#include "process/memory.h"
#include "record/added_jobs.h"
#include "record/record.h"
#include "sharing/jobserver_slots.h"
#include "sharing/leases.h"
#include "sharing/nested.h"
#include "shell/quoting.h"
#include "template/command.h"
#include "term/screen.h"

#include <locale.h>
#include <errno.h>
#include <unistd.h>

void job_keeps_thread(const struct run *run, bool begins) {
	if (run->hosts) {
		pool_add_threads(run->pool, begins ? 1 : -1);
	}
}

static void print_command(struct worker_state *state) {
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	buf_add_for(&line, STDERR_FILENO, buf_str(&state->text), state->text.len);
	buf_addc(&line, '\n');
	if (screen_say(line.data, line.len) != 0) {
		atomic_store_relaxed(&state->run->trouble, true);
	}
}

// ---- the environment ----

enum { LOSSES_ALONE = 2 }; // a job that was lost with its machine this often gets a machine for itself, as the job itself may bring machines down

enum { UNREACHABLE = 255 }; // exit code of a job whose machine cannot be reached: that of ssh
enum { VARS = 16, VARS_BYTES = 500 }; // first guess of how many variables differ from job to job, and of their bytes; the memory grows if need be

// Builds the variables that fairpar and GNU parallel set for each job, and the variables of the spec that differ from job to job; a NUL behind each.
static void build_vars(struct buf *vars, const struct job *job) {
	const struct run *run = job->batch->run;
	const struct options *options = run->options;
	const char *batch = job->batch->name;
	buf_reset(vars);
	buf_reserve(vars, VARS_BYTES);
	buf_printf(vars, "FAIRPAR_BATCH=%s%cFAIRPAR_JOB=%s#%llu%cFAIRPAR_SEQ=%llu%cFAIRPAR_SLOT=%u%cFAIRPAR_ATTEMPT=%u%c", batch, 0, batch,
	           ull(job->item.number), 0, ull(job->item.seq), 0, job->slot, 0, job->attempt, 0);
	buf_printf(vars, "FAIRPAR_RUN=%s%cPARALLEL_SEQ=%llu%cPARALLEL_JOBSLOT=%u%cPARALLEL_PID=%d%c", publish_run_id(run), 0,
	           ull(job->item.seq), 0, job->slot, 0, run->pid, 0);
	if (options->hosts.n > 0) {
		buf_printf(vars, "PARALLEL_SSHLOGIN=%s%cPARALLEL_SSHHOST=%s%c", job->login ? job->login->name : ":", 0, job->login ? job->login->host : ":", 0);
	}
	if (options->slot_var) {
		buf_printf(vars, "%s=%u%c", options->slot_var, job->slot - 1, 0);
	}
	if (job->told) {
		buf_printf(vars, "FAIRPAR_EXIT=%d%cFAIRPAR_OUTCOME=%s%c", result_code(job->told), 0, outcome_names[job->told->outcome], 0);
	}
	struct expansion x = job_expansion(job);
	for (size_t i = 0; i < job->spec->nvars; ++i) {
		job_spec_add_variable(vars, &job->spec->vars[i], &x);
	}
}

// Adds PWD for a job with a directory of its own, because the PWD that the job inherits names another directory.
static void add_dir(struct buf *vars, const struct job_spec *spec, const char *dir) {
	buf_adds(vars, "PWD=");
	if (strcmp(dir, ".") == 0) {
		dir = spec->start;
	} else if (dir[0] != '/') {
		buf_printf(vars, "%s/", strcmp(spec->start, "/") == 0 ? "" : spec->start);
	}
	buf_adds(vars, dir);
	buf_addc(vars, '\0');
}

// Sets state->env to the environment of the attempt. Its strings are borrowed from the state and from the job's spec, until the next call.
static void build_env(struct worker_state *state, const struct job *job) {
	const struct job_spec *spec = job->spec;
	struct buf *vars = &state->vars;
	build_vars(vars, job);
	state->live = (struct live_attempt){
		.worker = state->worker,
		.job = job,
		.id = publish_identify(state, job),
		.command = buf_str(&state->text),
		.has_slot = !worker_is_long(state->worker),
	};
	if (state->run->nested) {
		nested_add_variable(state->run->nested, &state->live, vars);
	}
	if (spec->start && state->context && state->context->cwd) {
		add_dir(vars, spec, state->context->cwd);
	}
	if (template_has(job_template(job), TEMPLATE_NAMES_ITEM)) {
		job_spec_add_item(vars, &job->record);
	}
	size_t n = spec->nenv;
	grow_array(&state->env, &state->env_cap, n + VARS, sizeof(*state->env));
	memcpy(state->env, spec->env, n * sizeof(*state->env));
	for (char *at = vars->data; at < vars->data + vars->len; at += strlen(at) + 1) {
		*NEW_ELEMENT(state->env, n, state->env_cap) = at;
	}
	*NEW_ELEMENT(state->env, n, state->env_cap) = NULL;
}

// ---- the attempt ----

// Prints why the job could not be started.
static void report_spawn_error(struct worker_state *state, const struct job *job, const struct spawn_error *error) {
	const char *first = state->command.argv && state->command.argv[0] ? state->command.argv[0] : buf_str(&state->text);
	const char *dir = state->context ? state->context->cwd : job->spec->context->cwd;
	if (error->step == SPAWN_CHDIR && dir) {
		attempt_complain(state, job, "cannot start in '%s': %s", text_shows(dir), strerror(error->error));
	} else if (error->step == SPAWN_EXEC && error->error == ENOENT) {
		attempt_complain(state, job, "'%s': command not found%s", text_shows(first),
		                 job->added ? "; --add uses no shell: for a shell, write --add sh -c 'COMMAND'" : "");
	} else {
		const char *step = error->step == SPAWN_EXEC ? "" : spawn_step_name(error->step);
		attempt_complain(state, job, "cannot start '%s': %s%s%s", text_shows(first), step, *step ? ": " : "", strerror(error->error));
	}
}

// Sets state->context for the job's own directory; NULL: it has none. Makes the directory if the job runs here. Returns 0, or -1 after a message.
static int enter_workdir(struct worker_state *state, const struct job *job) {
	const struct job_spec *spec = job->spec;
	context_unref(state->context);
	state->context = NULL;
	if (!spec->workdir) {
		return 0;
	}
	struct expansion x = job_expansion(job);
	FP_CLEANUP(buf_fini) struct buf dir = BUF_INIT;
	template_expand(spec->workdir, &x, &dir);
	int result = job_is_here(job) && dir.len > 0 && access(dir.data, F_OK) != 0 ? make_dirs(dir.data) : 0;
	if (result != 0) {
		attempt_complain(state, job, "cannot make the directory '%s': %s", text_shows(dir.data), strerror(errno));
	} else {
		state->context = context_derive(spec->context, dir.len > 0 ? dir.data : NULL, /* umask */ -1, /* nice */ 0);
	}
	return result;
}

// Whether the job is a clean-up (on-failure, finally), which runs also when the run is cut short, and waits for nothing.
static bool is_cleanup(const struct job *job) {
	return job->role == ROLE_FINALLY || job->role == ROLE_ON_FAILURE;
}

// Called when the attempt begins to wait for memory. Lends its slot meanwhile, because jobs that have the memory may need the slot in order to end.
// In a run on several machines the attempt keeps its slot, because it keeps its place.
static void memory_waits(void *arg, uint64_t bytes) {
	struct worker_state *state = arg;
	const struct job *job = state->live.job;
	FP_CLEANUP(buf_fini) struct buf what = BUF_INIT;
	worker_pass(state->worker);
	if (bytes > 0) {
		buf_printf(&what, "%s of memory", memory_show(bytes));
	} else {
		buf_adds(&what, "memory: it is not known yet how much the jobs of its batch need");
	}
	publish_attempt_wait(state, job, WHY_MEMORY, buf_str(&what));
	if (!job->login) {
		worker_wait_begin(state->worker);
	}
}

// Waits until there is memory for the attempt, which runs on this machine, and claims it. Returns false if the attempt is refused meanwhile.
static bool claim_memory(struct worker_state *state, const struct job *job, const struct child_config *config) {
	struct children *children = state->run->children;
	const atomic_bool *refusal = children_refusal(children, config->cleanup);
	bool may = memory_claim_open(children_memory(children), config->claim, config->memory, config->label, refusal);
	config->claim->waits = NULL;
	if (state->stats.wait_since > 0 && !job->login) {
		worker_wait_end(state->worker, WHY_MEMORY, may ? refusal : NULL);
	}
	publish_attempt_wait_end(state, job);
	return may;
}

static void child_started(void *arg, pid_t pid, uint64_t start) {
	struct worker_state *state = arg;
	const struct job *job = state->live.job;
	struct run *run = state->run;
	if (run->gate && !is_cleanup(job)) {
		gate_note_start(run->gate);
	}
	worker_pass(state->worker);
	atomic_store_relaxed(&state->live.pid, pid);
	publish_job_start(state, job, (int)pid, start);
	if (job_is_cancelled(job)) {
		hosts_cancel(run->hosts, &state->live); // --cancel came before the process was there
		children_cancel(run->children, &state->live, start);
	}
}

// Adds the paths that the templates name, unless a path is the same as the path before. With several items in one command, each item has its path.
static void add_paths(struct buf *paths, const struct job *job, const struct templates *templates) {
	size_t last = 0;
	for (size_t i = 0; i < templates->n; ++i) {
		const struct template *template = templates->at[i];
		struct expansion x = job_expansion(job);
		struct record one = {.args = job->record.args, .nargs = 1};
		bool is_each = job->batch->run->options->packing.on && job->record.nargs > 0 && !template_has(template, TEMPLATE_HAS_COLUMNS);
		for (uint32_t arg = 0; arg < (is_each ? job->record.nargs : 1); ++arg, one.args += one.size) {
			size_t at = paths->len;
			one.size = strlen(one.args) + 1;
			x.record = is_each ? &one : x.record;
			template_expand(template, &x, paths);
			buf_addc(paths, '\0');
			bool is_same = at > 0 && strcmp(paths->data + last, paths->data + at) == 0;
			paths->len = is_same ? at : paths->len;
			last = is_same ? last : at;
		}
	}
}

// ---- its slot, and its process ----

// Enters the attempt in the table of attempts, and gets its memory, and its slots from a pool or outer run. Returns false if it may not start.
static bool enter_slot(struct worker_state *state) {
	struct run *run = state->run;
	struct live_attempt *attempt = &state->live;
	nested_begin(run->nested, attempt);
	waits_attempt_begin(run->added_jobs, attempt);
	// memory before the lease: an attempt that waits for memory then holds no slot of the pool
	bool may = !state->config.claim || claim_memory(state, attempt->job, &state->config);
	if (attempt->has_slot) {
		jobserver_slots_begin(run->jobserver);
	}
	if (!may || !leases_begin(run->leases, &state->config, attempt)) {
		(void)memory_claim_close(children_memory(run->children), state->config.claim);
		return false;
	}
	return true;
}

// Undoes enter_slot(). Returns whether the attempt has its slots and the terminal at its end, and has not lent them.
static bool leave_slot(struct worker_state *state) {
	struct run *run = state->run;
	struct live_attempt *attempt = &state->live;
	bool has_all = waits_attempt_end(run->added_jobs, attempt);
	leases_end(run->leases, attempt);
	nested_end(run->nested, attempt);
	if (attempt->has_slot) {
		jobserver_slots_end(run->jobserver);
	}
	return has_all;
}

// True if the job may write to the terminal itself.
static bool is_raw(const struct worker_state *state) {
	return !state->config.output_reader || terminal_fd(state->run) >= 0;
}

// Gives back what run_child() has taken for the attempt, which has ended.
static void end_child(struct worker_state *state, const struct job *job, struct result *result, const struct spawn_error *error) {
	bool has_all = leave_slot(state);
	if (job->spool) {
		spool_set_job(job->spool, NULL);
	}
	if (job->block) {
		block_disconnect(job->block, &state->config);
	}
	if (state->config.foreground && has_all) {
		terminal_take_back(state->run, result);
	}
	if (is_raw(state)) {
		screen_leave(STDERR_FILENO, -1);
	}
	if (result->outcome == OUTCOME_SPAWN_ERROR && error->error) {
		report_spawn_error(state, job, error);
	}
}

// Runs the attempt as a child process here, from its start to its end.
static void run_here(struct worker_state *state, const struct job *job, struct result *ret_result) {
	struct run *run = state->run;
	struct child_config *config = &state->config;
	struct spawn_error error;
	FP_CLEANUP(free_later) char **bare_env = NULL;
	struct memory_claim claim = {
		.learned = config->cleanup ? NULL : job->batch->memory, .origin = &state->live, .awaited = &state->live.awaited, .waits = memory_waits,
		.waits_arg = state,
	};
	config->claim = config->memory > 0 || claim.learned ? &claim : NULL;
	if (run->jobserver && !state->live.has_slot) { // tools in a job without a slot get no slots of the jobserver either
		config->env = bare_env = env_with(config->env, "MAKEFLAGS", jobserver_slots_bare_flags(run->jobserver));
	}
	job_keeps_thread(run, true);
	if (enter_slot(state)) {
		child_run(run->children, config, ret_result, &error);
	}
	job_keeps_thread(run, false);
	end_child(state, job, ret_result, &error);
}

// Makes the next step of an attempt on another machine. Returns false if the attempt waits for the machine, true if it has ended.
static bool step_elsewhere(struct worker_state *state, const struct job *job, struct result *ret_result) {
	struct spawn_error error;
	if (!hosts_step(state->elsewhere, ret_result, &error)) {
		loans_request_elsewhere(state);
		return false;
	}
	state->elsewhere = NULL;
	if (ret_result->end > ret_result->start && !ret_result->lost) {
		worker_set_took(state->worker, ret_result->end - ret_result->start);
	}
	if (state->files.why.len > 0) {
		attempt_complain(state, job, "%s: %s", job->login->name, state->files.why.data);
	}
	job_files_fini(&state->files);
	end_child(state, job, ret_result, &error);
	return true;
}

// Runs the attempt's process on this machine to its end, or begins it on another machine. If a file could not be transferred, a message says so.
// Returns false if the attempt goes on elsewhere, true if it has ended. If the attempt may not start any more, *ret_result stays OUTCOME_CANCELLED.
static bool run_child(struct worker_state *state, const struct job *job, struct hosts_place *place, struct result *ret_result) {
	struct run *run = state->run;
	const struct job_spec *spec = job->spec;
	bool is_here = job_is_here(job);
	if (is_here && !state->stack_top) {
		state->stack_top = spawn_stack_create();
		state->warm = warm_create(run->options->warm, run->children);
	}
	state->reader = job_output_reader(state);
	state->config = (struct child_config){
		.path = state->command.path,
		.argv = state->command.argv,
		.env = state->env,
		.context = state->context ? state->context : spec->context,
		// a semaphore's command has fairpar's own standard input, as with GNU parallel
		.stdin_fd = job->added ? -1 : run->options->sem.is_on && !run->options->tty ? STDIN_FILENO : terminal_fd(run),
		.output_reader = job->spool || job->results ? &state->reader : NULL,
		.timeout = spec->timeout,
		.memory = spec->memory,
		.label = buf_str(&state->label),
		// the guardian of a semaphore's command holds the semaphore until the command has ended
		.forks = state->command.by_shell || run->options->sem.is_on,
		.own_group = true,
		.foreground = !job->added && terminal_fd(run) >= 0 && terminal_is_ours(run),
		.cleanup = is_cleanup(job),
		.origin = &state->live,
		.unlink_path = created_files_path(job),
		.stack_top = state->stack_top,
		.starter = state->command.by_shell && is_here ? warm_starter(state->warm) : NULL,
		.started = child_started,
		.started_arg = state,
	};
	if (job->block && block_connect(job->block, &state->config) != 0) {
		result_cannot_start(ret_result, 126);
		return true;
	}
	if (is_raw(state)) {
		screen_enter(STDERR_FILENO);
	}
	if (job->spool) {
		spool_set_job(job->spool, &state->live);
	}
	state->live.has_terminal = state->config.foreground;
	state->live.place = place;
	if (is_here) {
		run_here(state, job, ret_result);
		return true;
	}
	if (!enter_slot(state)) {
		end_child(state, job, ret_result, NULL);
		return true;
	}
	add_paths(&state->files.go, job, &job->spec->transferred);
	add_paths(&state->files.come, job, &job->spec->returned);
	place->files = &state->files;
	place->batch = job->batch->number;
	state->elsewhere = hosts_begin(place, &state->config, state->worker);
	if (step_elsewhere(state, job, ret_result)) {
		return true;
	}
	if (run->options->delay == 0 && !run->options->interactive) {
		worker_pass(state->worker); // lets the next item start: the other machine itself checks its load and memory before it starts a job
	}
	// if no files must be transferred first, the command was sent just now, with its environment
	if (job->spec->transferred.n == 0 && run->options->nbasefiles == 0) {
		buf_fini(&state->vars); // there may be very many pending attempts, and each would keep its own environment
		free(state->env);
		state->env = NULL;
		state->env_cap = 0;
	}
	return false;
}

// --shell-quote: quotes state->text `times` times. If a shell reads the result as many times, the original text comes back.
static void quote_text(struct worker_state *state, unsigned times) {
	for (; times > 0; --times) {
		struct buf quoted = BUF_INIT;
		shell_quote(&quoted, buf_str(&state->text), state->text.len);
		buf_fini(&state->text);
		state->text = quoted;
	}
}

// With --dry-run of a manifest: shows the batch's name before its first command. On one thread (run_is_serial()).
static void show_batch(const struct job *job) {
	struct run *run = job->batch->run;
	FP_CLEANUP(buf_fini) struct buf line = BUF_INIT;
	if (run->manifest && run->shown != job->batch) {
		run->shown = job->batch;
		buf_printf(&line, "# batch %s\n", job->batch->name);
		spool_add_shown(job->spool, line.data, line.len);
	}
}

// True if the arguments are valid text in the locale. The shell yash reads an argument that it cannot convert as empty.
static bool is_text(const struct record *record) {
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0), old = locale ? uselocale(locale) : (locale_t)0;
	bool is_right = true;
	const char *at = record->args;
	for (uint32_t i = 0; i < record->nargs && locale && is_right; ++i, at += strlen(at) + 1) {
		is_right = mbstowcs(NULL, at, 0) != (size_t)-1;
	}
	if (locale) {
		uselocale(old);
		freelocale(locale);
	}
	return is_right;
}

// True if the shell can read the items at their places in the command, and the environment can hold them. If not, prints why.
static bool is_permitted(struct worker_state *state, const struct job *job, const struct expansion *x) {
	const struct template *template = job_template(job);
	FP_CLEANUP(buf_fini) struct buf why = BUF_INIT;
	static const size_t most = COMMAND_STRING_MAX - sizeof("FAIRPAR_ITEM=");
	if (!template || (template_has(template, TEMPLATE_NAMES_ITEM) && job->record.size > most)) {
		if (template) {
			buf_printf(&why, "an item of %zu bytes is too long for $FAIRPAR_ITEM, which holds 128 KiB", job->record.size - 1);
		}
	} else if (!template_has(template, TEMPLATE_IS_DIRECT)) {
		bool is_yash = job->spec->by.shell && text_ends(job->spec->by.shell, "yash");
		if (template_permits(template, x, &why) && is_yash && !is_text(&job->record)) {
			buf_adds(&why, "yash takes only characters of the locale, and would run the command with an empty item: use another --shell");
		}
	}
	if (why.len > 0) {
		attempt_complain(state, job, "%s", why.data);
	}
	return why.len == 0;
}

enum { TEXT_BYTES = 128 * 1024 }; // if only messages show the text of a command: how many bytes of its arguments are in the text

// Writes the command's text to state->text. If the text is very long and serves only messages, which show little of it, writes only its beginning.
// Returns whether the text is whole.
static bool write_text(struct worker_state *state, const struct job *job, const struct expansion *x) {
	const struct template *template = job_template(job);
	const struct options *options = state->run->options;
	bool is_read = state->run->log || state->run->result_files || options->print_commands || options->show_commands
		|| options->interactive || options->dry_run;
	struct record first = *x->record;
	struct expansion beginning = *x;
	if (!is_read && template_has(template, TEMPLATE_IS_DIRECT) && first.size > TEXT_BYTES && first.nargs > 1) {
		first.nargs = 0;
		for (first.size = 0; first.size < TEXT_BYTES; ++first.nargs) {
			first.size += strlen(first.args + first.size) + 1;
		}
		beginning.record = &first;
	}
	buf_reset(&state->text);
	command_text(template, &beginning, &job->spec->by, &state->text);
	return beginning.record == x->record;
}

// Builds state->command. `is_whole`: state->text has the whole text of the command. Returns 0; or -1 with *ret_result, after a message.
static int build_command(struct worker_state *state, const struct job *job, const struct expansion *x, bool is_whole, struct result *ret_result) {
	const struct template *template = job_template(job);
	const struct interpreter *by = &job->spec->by;
	int built = command_build(&state->command, template, x, by, &state->text);
	if (built == 0 && state->command.by_shell && !is_whole) { // the program that was to run without a shell has gone
		buf_reset(&state->text);
		command_text(template, x, by, &state->text);
		built = command_build(&state->command, template, x, by, &state->text);
	}
	if (built != 0) {
		struct spawn_error error = {.step = SPAWN_EXEC, .error = errno};
		result_cannot_start(ret_result, error.error == ENOENT ? 127 : 126);
		if (error.error == EINVAL) {
			attempt_complain(state, job, "%s", buf_str(&state->command.text));
		} else {
			report_spawn_error(state, job, &error);
		}
	}
	return built;
}

// Asks the user, who may take long, whether the command is to run.
static bool confirm(struct run *run, const char *command) {
	job_keeps_thread(run, true);
	bool may = terminal_confirm(run, command);
	job_keeps_thread(run, false);
	return may;
}

// Notes the end of the attempt's process.
static void note_end(struct worker_state *state, const struct job *job, const struct result *result) {
	const struct run *run = state->run;
	if (run->gate && !is_cleanup(job)) {
		gate_note_end(run->gate, result);
	}
	if (run->auto_slots && job_is_here(job)) {
		auto_slots_end(run->auto_slots, &job->batch->pace, state->worker ? worker_width(state->worker) : 1, result);
	}
}

// Makes the attempt on the machine of `place`, or here if `place` is NULL. Returns false if the attempt goes on elsewhere, true if it has ended.
static bool run_at(struct worker_state *state, struct job *job, struct hosts_place *place, struct result *ret_result) {
	struct run *run = state->run;
	struct expansion x = job_expansion(job);
	bool is_whole = write_text(state, job, &x);
	job_output_open_spool(state, job);
	if (!is_permitted(state, job, &x)) {
		result_cannot_start(ret_result, 126);
		ret_result->is_refused = true;
		return true;
	}
	if (run->options->dry_run) {
		quote_text(state, run->options->shell_quotes);
		if (run->options->print_commands) {
			print_command(state);
		}
		buf_addc(&state->text, '\n');
		show_batch(job);
		spool_add_shown(job->spool, state->text.data, state->text.len);
		return true;
	}
	if (run->result_files) {
		job_keeps_thread(run, true);
		bool begun = result_files_begin(state, job, ret_result);
		job_keeps_thread(run, false);
		if (!begun) {
			return true;
		}
	}
	if (run->options->print_commands) {
		print_command(state);
	}
	if (run->options->show_commands) {
		job_output_show_command(state, job);
	}
	if (enter_workdir(state, job) != 0) {
		result_cannot_start(ret_result, 126);
		return true;
	}
	if (build_command(state, job, &x, is_whole, ret_result) != 0) {
		return true;
	}
	worker_state_label(state, job);
	buf_addc(&state->label, ' ');
	buf_add(&state->label, buf_str(&state->text), state->text.len);
	build_env(state, job);
	if (run->auto_slots && job_is_here(job)) {
		auto_slots_begin(run->auto_slots, state->worker ? worker_width(state->worker) : 1);
	}
	if (gate_can_hold(run->gate) && !is_cleanup(job) && worker_facts(state->worker)->gated > 0) {
		publish_note_wait(state, gate_reason(run->gate), worker_facts(state->worker)->gated);
	}
	*ret_result = (struct result){.outcome = OUTCOME_CANCELLED};
	if (!run->options->interactive || job->told || confirm(run, buf_str(&state->text))) {
		job_output_let_through(run, job);
		if (!run_child(state, job, place, ret_result)) {
			return false;
		}
	}
	note_end(state, job, ret_result);
	return true;
}

// ---- on a machine ----

// Gives back the place of the attempt, which has ended.
static void leave_place(struct worker_state *state) {
	hosts_release_place(state->run->hosts, &state->request.place);
	hosts_refresh_list(state->run->hosts);
}

// Called when the request for a place is answered: makes the attempt there, or ends it. Returns as attempt_run().
static bool on_answer(struct worker_state *state, struct job *job, struct result *ret_result) {
	struct hosts_request *request = &state->request;
	publish_attempt_wait_end(state, job);
	ret_result->outcome = OUTCOME_CANCELLED;
	if (request->answer == HOSTS_UNREACHABLE) {
		job->login = request->gone;
		struct expansion x = job_expansion(job);
		(void)write_text(state, job, &x);
		job_output_open_spool(state, job);
		// an earlier message has said which machine cannot be reached, and why
		buf_adds(&state->stats.why, "none of the machines that the job may run on can be reached");
		result_cannot_start(ret_result, UNREACHABLE);
	} else if (request->answer == HOSTS_PLACE) {
		job->login = request->place.login;
		if (!run_at(state, job, &request->place, ret_result)) {
			return false;
		}
		leave_place(state);
	}
	return true;
}

// Requests a place for the attempt, before its command is built, as the command may name the machine. Returns as attempt_run().
static bool enter_host(struct worker_state *state, struct job *job, struct result *ret_result) {
	struct hosts *hosts = state->run->hosts;
	if (job->attempt == 1) {
		job->tries.n = 0;
	} else if (job->login && job->result.lost != LOST_UNSENT) { // an attempt that was never sent is no try of the machine
		*NEW_ELEMENT(job->tries.logins, job->tries.n, job->tries.cap) = job->login;
	}
	state->request = (struct hosts_request){
		.worker = state->worker, .width = worker_width(state->worker), .tries = &job->tries, .is_alone = job->losses >= LOSSES_ALONE,
		.binding = job->batch->binding,
	};
	hosts_refresh_list(hosts);
	if (hosts_request_place(hosts, &state->request)) {
		return on_answer(state, job, ret_result);
	}
	FP_CLEANUP(buf_fini) struct buf what = BUF_INIT;
	hosts_describe_request(hosts, &state->request, &what);
	worker_pass(state->worker); // other items go on, and may use the machine that this attempt waits for
	publish_attempt_wait(state, job, WHY_HOST, buf_str(&what));
	return false;
}

bool attempt_run(struct worker_state *state, struct job *job, struct result *ret_result) {
	// only jobs of items, and only if they take slots, run on other machines; all other commands run here
	bool is_placed = state->run->hosts && job->role == ROLE_JOB && !worker_is_long(state->worker);
	*ret_result = (struct result){.outcome = OUTCOME_OK};
	publish_attempt_begin(state);
	if (is_placed) {
		return enter_host(state, job, ret_result);
	}
	job->login = NULL;
	return run_at(state, job, NULL, ret_result);
}

bool attempt_resume(struct worker_state *state, struct job *job, struct result *ret_result) {
	if (!state->elsewhere) {
		return hosts_have_answered(state->run->hosts, &state->request) && on_answer(state, job, ret_result);
	}
	if (!step_elsewhere(state, job, ret_result)) {
		return false;
	}
	note_end(state, job, ret_result);
	leave_place(state);
	return true;
}
