/* Stands in for a Bloom filter of the server's own, where there is none: the same commands, kept in a set. A reservation
 * is a member of that set, so that a test can read what was reserved. What it needs of the module API is declared here. */

#include <stddef.h>

typedef struct Context Context;
typedef struct String String;
typedef struct Reply Reply;
typedef int (*Command)(Context *, String **, int);

static void (*SetModuleAttribs)(Context *, const char *, int, int);
static int (*CreateCommand)(Context *, const char *, Command, const char *, int, int, int);
static Reply *(*Call)(Context *, const char *, const char *, ...);
static int (*ReplyWithCallReply)(Context *, Reply *);
static int (*ReplyWithError)(Context *, const char *);
static int (*ReplyWithSimpleString)(Context *, const char *);
static const char *(*StringPtrLen)(const String *, size_t *);
static String *(*CreateStringPrintf)(Context *, const char *, ...);
static long long (*CallReplyInteger)(Reply *);

static int reserve(Context *context, String **words, int count) {
    if (count != 4) return ReplyWithError(context, "ERR wrong number of arguments");
    if (CallReplyInteger(Call(context, "EXISTS", "s", words[1]))) return ReplyWithError(context, "ERR item exists");
    String *note = CreateStringPrintf(
        context, "reserved %s %s", StringPtrLen(words[2], NULL), StringPtrLen(words[3], NULL));
    Call(context, "SADD", "!ss", words[1], note);
    return ReplyWithSimpleString(context, "OK");
}

static int add(Context *context, String **words, int count) {
    if (count != 3) return ReplyWithError(context, "ERR wrong number of arguments");
    return ReplyWithCallReply(context, Call(context, "SADD", "!ss", words[1], words[2]));
}

static int exists(Context *context, String **words, int count) {
    if (count != 3) return ReplyWithError(context, "ERR wrong number of arguments");
    return ReplyWithCallReply(context, Call(context, "SISMEMBER", "ss", words[1], words[2]));
}

int RedisModule_OnLoad(Context *context, String **words, int count) {
    int (*GetApi)(const char *, void *) = (int (*)(const char *, void *))((void **)context)[0];
    (void)words, (void)count;
    GetApi("RedisModule_SetModuleAttribs", &SetModuleAttribs);
    GetApi("RedisModule_CreateCommand", &CreateCommand);
    GetApi("RedisModule_Call", &Call);
    GetApi("RedisModule_ReplyWithCallReply", &ReplyWithCallReply);
    GetApi("RedisModule_ReplyWithError", &ReplyWithError);
    GetApi("RedisModule_ReplyWithSimpleString", &ReplyWithSimpleString);
    GetApi("RedisModule_StringPtrLen", &StringPtrLen);
    GetApi("RedisModule_CreateStringPrintf", &CreateStringPrintf);
    GetApi("RedisModule_CallReplyInteger", &CallReplyInteger);
    SetModuleAttribs(context, "bf", 1, 1);
    return CreateCommand(context, "bf.reserve", reserve, "write deny-oom", 1, 1, 1) |
           CreateCommand(context, "bf.add", add, "write deny-oom", 1, 1, 1) |
           CreateCommand(context, "bf.exists", exists, "readonly", 1, 1, 1);
}
